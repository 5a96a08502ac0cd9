// SPDX-License-Identifier: Apache-2.0
// Products of several matrices: the order of least cost, for extents that the types know.
#pragma once
#include <locus/core/pack.hpp>       // get
#include <locus/core/type_list.hpp>  // type_list, concatenate_t
#include <locus/expr/node.hpp>       // Node
#include <locus/ops/matmul.hpp>      // matmul, matmul_op

namespace locus::internal {

/// means: the elements of a matrix, without overflow
constexpr double area(shape const& s) { return double(s.extent[0]) * double(s.extent[1]); }

/// means: one factor of a product
template <class E>
struct matrix_chain {
  static constexpr bool is_product = false;
  using factors = type_list<E>;
  static constexpr double operations = 0, elements = 0;
  template <int>
  static constexpr E factor(E const& e) {
    return e;
  }
  template <class Text>
  static constexpr void write(Text& out, int first) {
    if (first < 26) {
      char const letter[] = {static_cast<char>('a' + first), '\0'};
      out << letter;
    } else
      out << "x" << first;
  }
};

/// means: a product of two matrices, whose factors may be products
/// units: operations: 2 m n k for each product; elements: of the results of the inner products
template <class A, class B>
  requires(A::pattern.rank == 2 && B::pattern.rank == 2)
struct matrix_chain<Node<matmul_op, A, B>> {
  using E = Node<matmul_op, A, B>;
  using left = matrix_chain<A>;
  using right = matrix_chain<B>;
  static constexpr bool is_product = true;
  using factors = concatenate_t<typename left::factors, typename right::factors>;
  static constexpr double operations =
      left::operations + right::operations + 2. * area(E::pattern) * double(A::pattern.extent[1]);
  static constexpr double elements = left::elements + right::elements +
                                     (left::is_product ? area(A::pattern) : 0) +
                                     (right::is_product ? area(B::pattern) : 0);
  template <int K>
  static constexpr auto factor(E const& e) {
    if constexpr (K < left::factors::size)
      return left::template factor<K>(get<0>(e.operands));
    else
      return right::template factor<K - left::factors::size>(get<1>(e.operands));
  }
  template <class Text>
  static constexpr void write(Text& out, int first) {
    out << "(";
    left::write(out, first);
    out << " ";
    right::write(out, first + left::factors::size);
    out << ")";
  }
};

/// Factors [first, last] of a chain, multiplied in the best order.
struct chain_product {
  double operations = 0, elements = 0;  // elements: of inner results
  int split = 0;                        // the last factor of its left part
  constexpr bool is_less(chain_product const& o) const {
    return operations != o.operations ? operations < o.operations : elements < o.elements;
  }
};
template <int Factors>
struct chain_products {
  chain_product of[Factors][Factors]{};
};
/// means: the order of least operations for factors of rows[i] x rows[i + 1] elements; of equal ones, that
///        of the fewest elements of inner results
template <int Factors>
constexpr chain_products<Factors> find_best_order(double const (&rows)[Factors + 1]) {
  chain_products<Factors> t;
  for (int length = 2; length <= Factors; ++length)
    for (int first = 0; first + length <= Factors; ++first) {
      int const last = first + length - 1;
      for (int split = first; split < last; ++split) {
        chain_product const &a = t.of[first][split], &b = t.of[split + 1][last];
        chain_product now;
        now.split = split;
        now.operations =
            a.operations + b.operations + 2. * rows[first] * rows[split + 1] * rows[last + 1];
        now.elements = a.elements + b.elements +
                       (split > first ? rows[first] * rows[split + 1] : 0) +
                       (split + 1 < last ? rows[split + 1] * rows[last + 1] : 0);
        if (split == first || now.is_less(t.of[first][last])) t.of[first][last] = now;
      }
    }
  return t;
}

/// means: the order of least operations of a chain
template <class Factors>
struct best_order;
template <class First, class... F>
struct best_order<type_list<First, F...>> {
  static constexpr int factors = 1 + sizeof...(F);
  static constexpr bool is_static = (First::pattern.is_static() && ... && F::pattern.is_static());
  static constexpr chain_products<factors> best =
      find_best_order<factors>({double(First::pattern.extent[0]), double(First::pattern.extent[1]),
                                double(F::pattern.extent[1])...});
  static constexpr chain_product whole = best.of[0][factors - 1];

  /// means: factors [Begin, Last] of e in that order
  template <int Begin, int Last, class E>
  static constexpr auto build(E const& e) {
    if constexpr (Begin == Last)
      return matrix_chain<E>::template factor<Begin>(e);
    else {
      constexpr int split = best.of[Begin][Last].split;
      return matmul(build<Begin, split>(e), build<split + 1, Last>(e));
    }
  }
};

}  // namespace locus::internal
