// SPDX-License-Identifier: Apache-2.0
// The table of operations: name, TensorFlow's name, how it commutes with sums, and the element
// types that have a kernel on each side. The rows of element-wise operations come from the columns
// of ops/elementwise.hpp.
#pragma once
#include <string_view>  // string_view

#include <locus/expr/operation.hpp>   // operation, law
#include <locus/ops/elementwise.hpp>  // LOCUS_ELEMENTWISE
#include <locus/shape/element.hpp>    // element_set

namespace locus {

#define LOCUS_OPERATION_ROW(operands, name, tensorflow, law_of_sums, elements, cost, end, ...) \
  {#name, tensorflow, law::law_of_sums, elements, elements, cost >= 16, product_end::end},

// clang-format off
inline constexpr operation operation_table[] = {
    // name           TensorFlow          law              CPU             GPU             heavy
    LOCUS_ELEMENTWISE(LOCUS_OPERATION_ROW)
    LOCUS_ELEMENTWISE_COMPLEX(LOCUS_OPERATION_ROW)
    {"all_reduce",    "CollectiveReduceV2", law::none,     any_element,    any_element},
    {"all_gather",    "CollectiveGatherV2", law::none,     any_element,    any_element},
    {"per_shard",     "BroadcastTo",      law::none,       named_elements, named_elements},
    {"cast",          "Cast",             law::none,       named_elements, named_elements},
    {"one_hot",       "OneHot",           law::none,       integers,       integers},
    {"full",          "Fill",             law::none,       integers,       integers},
    {"iota",          "Range",            law::none,       integers,       integers},
    {"rows_inside",   "",                 law::none,       integers,       integers},
    {"uniform",       "RandomUniform",    law::none,       integers,       integers,       true},
    {"normal",        "RandomStandardNormal", law::none,   integers,       integers,       true},
    {"sum",           "Sum",              law::linear,     named_elements, named_elements},
    {"mean",          "Mean",             law::linear,     field_elements,         field_elements},
    {"prod",          "Prod",             law::none,       named_elements, named_elements},
    {"max",           "Max",              law::none,       real_elements,          real_elements},
    {"min",           "Min",              law::none,       real_elements,          real_elements},
    {"any",           "Any",              law::none,       booleans,       booleans},
    {"all",           "All",              law::none,       booleans,       booleans},
    {"argmax",        "ArgMax",           law::none,       real_elements,          real_elements},
    {"argmax.index",  "",                 law::none,       any_element,    any_element},
    {"softmax.max",   "",                 law::none,       floats,         floats},
    {"softmax.exp",   "",                 law::none,       floats,         floats,         true},
    {"softmax.sum",   "",                 law::linear,     floats,         floats},
    {"softmax",       "Softmax",          law::none,       floats,         floats},
    {"log_softmax",   "LogSoftmax",       law::none,       floats,         floats,         true},
    {"matmul",        "MatMul",           law::scale,      numbers,        field_elements},
    {"transpose",     "Transpose",        law::linear,     any_element,    any_element},
    {"expand_dims",   "ExpandDims",       law::linear,     any_element,    any_element},
    {"at",            "StridedSlice",     law::linear,     any_element,    any_element},
    {"reshape",       "Reshape",          law::linear,     any_element,    any_element},
    {"slice",         "StridedSlice",     law::linear,     any_element,    any_element},
    {"concatenate",   "ConcatV2",         law::none,       any_element,    any_element},
};
// clang-format on
#undef LOCUS_OPERATION_ROW

/// means: the row of that name     fails: at compile time, when there is none
consteval operation operation_named(std::string_view name) {
  for (operation const& row : operation_table)
    if (row.name == name) return row;
  throw "locus: name the new operation in operation_table";
}

/// Inside a functor or an operation of locus: its row, and its name in the texts of its errors.
#define LOCUS_BUILTIN(text)                                                \
  static constexpr ::locus::operation op = ::locus::operation_named(text); \
  LOCUS_SENTENCES(text)

}  // namespace locus
