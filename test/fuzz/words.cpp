// SPDX-License-Identifier: Apache-2.0
// Fuzz targets that read names, variables of the environment, and texts that are written again.
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <locus/engine/host/cblas.hpp>
#include <locus/locus.hpp>
#include <locus/machine/start_watching.hpp>
#include <locus/machine/visible_variable.hpp>  // read_visible_variable, require_visible_variable, visible_variable
#include <locus/nn/train/log_files.hpp>

#include "fuzz.hpp"

using namespace locus;
using fuzz::demand;
using fuzz::done_or_refused;

namespace {

bool is_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    std::size_t const n = locus::detail::utf8_length(s, i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

void names(std::string_view bytes) {
  device_name const n = parse_name(bytes);
  named_device const d = parse_device(bytes);
  bool const is_device = done_or_refused([&] {
    device const again = device_named(bytes);
    text_buffer<16> text;
    text << again;
    demand(parse_device(text.view()).value == again, "a printed device is another one");
    demand(again.ordinal() >= 0 && again.ordinal() <= max_ordinal, "an ordinal");
  });
  demand(is_device == (d.error == name_error::none), "a name that is one and is none");
  demand(!is_device || n.error == name_error::none, "a device without a name");
  demand(n.job.size() <= bytes.size() && n.type.size() <= bytes.size(), "a part beyond its name");
  done_or_refused([&] { static_cast<void>(config::get_memory_info(bytes)); });
  done_or_refused([&] { static_cast<void>(config::list_physical_devices(bytes)); });
  done_or_refused([&] { static_cast<void>(config::get_memory_growth(bytes)); });
  done_or_refused([&] { static_cast<void>(config::list_logical_devices(bytes)); });
}

/// a folder to be in: what a variable names without a slash lies there
void enter_folder() {
  static bool const done = [] {
    char folder[] = "/tmp/locus_fuzz_XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0 || rmdir(folder) != 0) fuzz::found("no folder");
    debugging::set_log_sink([](log_event const&, std::string_view text, void*) {
      demand(fuzz::is_printable(text), "a line of the log that commands a terminal");
    });
    return true;
  }();
  static_cast<void>(done);
}
void variables(std::string_view bytes) {
  enter_folder();  // which is gone already: no file can be made in it
  unsigned const form = fuzz::form_of(bytes);
  std::string const value(bytes.substr(0, bytes.find('\0')));
  static constexpr char const* all[] = {"LOCUS_NUM_THREADS",
                                        "LOCUS_SIMULATED_GPUS",
                                        "LOCUS_NVTX",
                                        "LOCUS_CHECK_RANKS",
                                        "LOCUS_OVERLAP_RANKS",
                                        "LOCUS_MPI_GPU_MEMORY",
                                        "LOCUS_FORCE_GPU_ALLOW_GROWTH",
                                        "TF_FORCE_GPU_ALLOW_GROWTH",
                                        "CUDA_VISIBLE_DEVICES",
                                        "LOCUS_MATMUL",
                                        "LOCUS_LOG",
                                        "LOCUS_TRACE"};
  char const* const variable = all[form % std::size(all)];
  setenv(variable, value.c_str(), 1);
  done_or_refused([&] {
    int const n = runtime::number_from_environment(variable, -3, 70, 5);
    demand(n >= -3 && n <= 70, "a number outside its range");
  });
  done_or_refused([&] {
    int const grows = runtime::forced_growth();
    demand(grows >= -1 && grows <= 1, "growth that is neither");
  });
  done_or_refused([&] { runtime::require_visible_variable(); });
  runtime::visible_variable const v = runtime::read_visible_variable(value.c_str());
  demand(v.listed >= 0 && std::size_t(v.listed) <= value.size() + 1, "more cards than entries");
  done_or_refused([&] { host::matmul_wanted(); });
  done_or_refused([&] { runtime::require_variables(); });
  if (value.find('/') == value.npos && std::strcmp(variable, "LOCUS_LOG") == 0)
    done_or_refused([&] { runtime::detail::read_log_variable(); });
  if (value.find('/') == value.npos && std::strcmp(variable, "LOCUS_TRACE") == 0)
    done_or_refused([&] { runtime::open_trace(value, {}); });
  unsetenv(variable);
}

void messages(std::string_view bytes) {
  text_buffer<1024> once, twice;
  write_printable(once, bytes);
  demand(fuzz::is_printable(once.view()), "a text that commands a terminal");
  write_printable(twice, once.view());
  if (once.view().size() + 8 < 1024)
    demand(twice.view() == once.view(), "printable text that changes");
  demand(shown(bytes).view().size() < 256, "a long short text");
  json_text json;
  json.open('{').member(bytes, bytes).close('}');
  demand(is_utf8(json.view()), "no UTF-8");
  for (char const c : json.view()) demand(static_cast<unsigned char>(c) >= 0x20, "no JSON");
  done_or_refused([&] {
    message text;
    throw bad_file(text << "locus: remedy; " << bytes);
  });
}

void tables(std::string_view bytes) {
  auto const records = nn::detail::csv_records(bytes);
  std::string again;
  for (auto const& r : records) again += nn::detail::csv_line(r);
  demand(nn::detail::csv_records(again) == records,
         "a table that changes when it is written again");
}

}  // namespace

namespace fuzz {
target const word_targets[4] = {
    {"names", names}, {"variables", variables}, {"messages", messages}, {"tables", tables}};
}  // namespace fuzz
