// SPDX-License-Identifier: Apache-2.0
// The table of operations: name, TensorFlow's name, how it commutes with sums, and for which
// element types a kernel exists on which side. A new operation is a new row; README.md section 7 names
// the other headers that it touches.
#pragma once
#include <string_view>  // string_view

#include <locus/expr/operation.hpp>  // operation, law
#include <locus/shape/element.hpp>   // element_set

namespace locus {

// clang-format off
inline constexpr operation operation_table[] = {
    // name           TensorFlow          law              CPU             GPU             heavy
    {"identity",      "Identity",         law::linear,     any_element,    any_element},
    {"all_reduce",    "CollectiveReduceV2", law::none,     any_element,    any_element},
    {"all_gather",    "CollectiveGatherV2", law::none,     any_element,    any_element},
    {"per_shard",     "BroadcastTo",      law::none,       named_elements, named_elements},
    {"add",           "AddV2",            law::add,        numbers,        numbers,        false, product_end::row},
    {"subtract",      "Sub",              law::add,        numbers,        numbers},
    {"multiply",      "Mul",              law::scale,      numbers,        numbers},
    {"divide",        "RealDiv",          law::scale_left, floats,         floats},
    {"floor_div",     "FloorDiv",         law::none,       numbers,        numbers},
    {"trunc_div",     "TruncateDiv",      law::none,       numbers,        numbers},
    {"true_div",      "RealDiv",          law::none,       numbers,        numbers},
    {"negate",        "Neg",              law::linear,     numbers,        numbers},
    {"abs",           "Abs",              law::none,       numbers,        numbers},
    {"square",        "Square",           law::none,       numbers,        numbers},
    {"sqrt",          "Sqrt",             law::none,       floats,         floats},
    {"exp",           "Exp",              law::none,       floats,         floats,         true},
    {"log",           "Log",              law::none,       floats,         floats,         true},
    {"tanh",          "Tanh",             law::none,       floats,         floats,         true},
    {"exp2",           "",                 law::none,        floats,         floats,         true},
    {"expm1",          "Expm1",            law::none,        floats,         floats,         true},
    {"log2",           "",                 law::none,        floats,         floats,         true},
    {"log10",          "",                 law::none,        floats,         floats,         true},
    {"log1p",          "Log1p",            law::none,        floats,         floats,         true},
    {"sin",            "Sin",              law::none,        floats,         floats,         true},
    {"cos",            "Cos",              law::none,        floats,         floats,         true},
    {"tan",            "Tan",              law::none,        floats,         floats,         true},
    {"asin",           "Asin",             law::none,        floats,         floats,         true},
    {"acos",           "Acos",             law::none,        floats,         floats,         true},
    {"atan",           "Atan",             law::none,        floats,         floats,         true},
    {"sinh",           "Sinh",             law::none,        floats,         floats,         true},
    {"cosh",           "Cosh",             law::none,        floats,         floats,         true},
    {"asinh",          "Asinh",            law::none,        floats,         floats,         true},
    {"acosh",          "Acosh",            law::none,        floats,         floats,         true},
    {"atanh",          "Atanh",            law::none,        floats,         floats,         true},
    {"sigmoid",        "Sigmoid",          law::none,        floats,         floats,         true},
    {"erf",            "Erf",              law::none,        floats,         floats,         true},
    {"erfc",           "Erfc",             law::none,        floats,         floats,         true},
    {"cbrt",           "",                 law::none,        floats,         floats,         true},
    {"atan2",          "Atan2",            law::none,        floats,         floats,         true},
    {"pow",            "Pow",              law::none,        floats,         floats,         true},
    {"hypot",          "",                 law::none,        floats,         floats,         true},
    {"reciprocal",     "Reciprocal",       law::none,        floats,         floats},
    {"rsqrt",          "Rsqrt",            law::none,        floats,         floats},
    {"floor",          "Floor",            law::none,        floats,         floats},
    {"ceil",           "Ceil",             law::none,        floats,         floats},
    {"round",          "Rint",             law::none,        floats,         floats},
    {"trunc",          "",                 law::none,        floats,         floats},
    {"sign",           "Sign",             law::none,        numbers,        numbers},
    {"isnan",          "IsNan",            law::none,        floats,         floats},
    {"isinf",          "IsInf",            law::none,        floats,         floats},
    {"isfinite",       "IsFinite",         law::none,        floats,         floats},
    {"relu",          "Relu",             law::none,       numbers,        numbers,        false, product_end::relu},
    {"maximum",       "Maximum",          law::none,       numbers,        numbers},
    {"minimum",       "Minimum",          law::none,       numbers,        numbers},
    {"clamp",         "ClipByValue",      law::none,       numbers,        numbers},
    {"where",         "SelectV2",         law::none,       named_elements, named_elements},
    {"cast",          "Cast",             law::none,       named_elements, named_elements},
    {"equal_to",      "Equal",            law::none,       named_elements, named_elements},
    {"not_equal_to",  "NotEqual",         law::none,       named_elements, named_elements},
    {"less",          "Less",             law::none,       numbers,        numbers},
    {"less_equal",    "LessEqual",        law::none,       numbers,        numbers},
    {"greater",       "Greater",          law::none,       numbers,        numbers},
    {"greater_equal", "GreaterEqual",     law::none,       numbers,        numbers},
    {"logical_and",   "LogicalAnd",       law::none,       booleans,       booleans},
    {"logical_or",    "LogicalOr",        law::none,       booleans,       booleans},
    {"logical_not",   "LogicalNot",       law::none,       booleans,       booleans},
    {"fma",           "",                 law::none,       floats,         floats},
    {"add_n",         "AddN",             law::add,        numbers,        numbers},
    {"one_hot",       "OneHot",           law::none,       integers,       integers},
    {"full",          "Fill",             law::none,       integers,       integers},
    {"iota",          "Range",            law::none,       integers,       integers},
    {"uniform",       "RandomUniform",    law::none,       integers,       integers,       true},
    {"normal",        "RandomStandardNormal", law::none,   integers,       integers,       true},
    {"sum",           "Sum",              law::linear,     named_elements, named_elements},
    {"mean",          "Mean",             law::linear,     floats,         floats},
    {"max",           "Max",              law::none,       numbers,        numbers},
    {"min",           "Min",              law::none,       numbers,        numbers},
    {"any",           "Any",              law::none,       booleans,       booleans},
    {"all",           "All",              law::none,       booleans,       booleans},
    {"argmax",        "ArgMax",           law::none,       numbers,        numbers},
    {"argmax.index",  "",                 law::none,       any_element,    any_element},
    {"softmax.max",   "",                 law::none,       floats,         floats},
    {"softmax.exp",   "",                 law::none,       floats,         floats,         true},
    {"softmax.sum",   "",                 law::linear,     floats,         floats},
    {"softmax",       "Softmax",          law::none,       floats,         floats},
    {"log_softmax",   "LogSoftmax",       law::none,       floats,         floats,         true},
    {"matmul",        "MatMul",           law::scale,      numbers,        floats},
    {"transpose",     "Transpose",        law::linear,     any_element,    any_element},
    {"expand_dims",   "ExpandDims",       law::linear,     any_element,    any_element},
    {"reshape",       "Reshape",          law::linear,     any_element,    any_element},
    {"slice",         "StridedSlice",     law::linear,     any_element,    any_element},
    {"concatenate",   "ConcatV2",         law::none,       any_element,    any_element},
};
// clang-format on

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
