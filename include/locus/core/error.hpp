// SPDX-License-Identifier: Apache-2.0
// The exceptions of locus. Every text begins with "locus: ", names the cause and a remedy; bytes
// from files and variables are made printable.
#pragma once
#include <exception>  // exception

#include <locus/core/macros.hpp>     // LOCUS_SHARED_STATE
#include <locus/core/printable.hpp>  // write_printable
#include <locus/core/text.hpp>       // text_buffer

namespace locus {

using message = text_buffer<768>;

namespace internal {
/// The youngest exception of locus on this thread that is not over: the one that passes, where a
/// destructor asks while an exception passes. The text is a copy, since another thread may destroy
/// the exception.
struct youngest_error {
  void const* which = nullptr;  // null: none
  message text{};
};
LOCUS_SHARED_STATE inline thread_local constinit youngest_error last_error{};
}  // namespace internal

/// The base of all exceptions of locus: catch this one, or one of the kinds below.
class error : public std::exception {
 public:
  explicit error(message const& text) : error(text.view()) {}
  explicit error(std::string_view text) {
    write_printable(text_, text);
    internal::last_error = {this, text_};
  }
  error(error const& e) noexcept : std::exception(e), text_(e.text_) {
    internal::last_error = {this, text_};
  }
  error& operator=(error const&) = default;
  ~error() override {
    if (internal::last_error.which == this) internal::last_error.which = nullptr;
  }
  char const* what() const noexcept override { return text_.c_str(); }

 private:
  message text_;
};

struct shape_error : error {
  using error::error;
};  // extents that do not fit
struct placement_error : error {
  using error::error;
};  // an impossible device list or request
struct unknown_device : error {
  using error::error;
};  // a name or an ordinal without a device
struct bad_access : error {
  using error::error;
};  // a tensor that was destroyed or moved from
struct out_of_memory : error {
  using error::error;
};  // device, requested, in use, limit, step
struct device_error : error {
  using error::error;
};  // a GPU refused a call; results may be lost, the GPU can be used again
struct device_lost : device_error {
  using device_error::device_error;
};  // a GPU that does not answer any more
struct no_kernel_in_unit : error {
  using error::error;
};  // this unit was not compiled by nvcc
struct bad_file : error {
  using error::error;
};  // path, expected, found
struct configuration_error : error {
  using error::error;
};  // a setting or variable, and what is wrong with it

}  // namespace locus
