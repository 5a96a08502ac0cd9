// SPDX-License-Identifier: Apache-2.0
// Bodies of the functions that data/stage.hpp declares.
#pragma once
#include <locus/core/macros.hpp>  // LOCUS_FUNCTION
#include <locus/data/stage.hpp>   // the declarations

namespace locus::data::detail {

LOCUS_FUNCTION std::exception_ptr name_element(std::string_view what, position const& at) {
  message text;
  text << "locus: " << what << " failed at element " << at.element << " of epoch "
       << static_cast<std::int64_t>(at.epoch) << ": ";
  try {
    throw;
  } catch (element_error const&) {  // f itself read a dataset, which named its element
    return std::current_exception();
  } catch (std::exception const& e) {
    text << std::string_view(e.what());
  } catch (...) {
    text << "an exception that is no std::exception";
  }
  return std::make_exception_ptr(element_error(text, at.element, std::current_exception()));
}

LOCUS_FUNCTION void refuse_number(std::string_view what, std::int64_t n, std::string_view remedy) {
  message text;
  throw configuration_error(text << "locus: " << what << " is " << n << "; " << remedy);
}

LOCUS_FUNCTION void refuse_no_end(std::string_view does, std::string_view remedy) {
  message text;
  throw configuration_error(text << "locus: " << does
                                 << ", and this dataset has no end, as repeat() makes one; write "
                                 << remedy);
}

}  // namespace locus::data::detail
