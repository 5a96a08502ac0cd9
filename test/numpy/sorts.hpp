// SPDX-License-Identifier: Apache-2.0
// Sorts, and all that orders elements: top_k, unique, searches, histograms.
#pragma once
#include <algorithm>

#include <locus/algorithms/histogram.hpp>
#include <locus/algorithms/run_lengths.hpp>
#include <locus/algorithms/search_sorted.hpp>
#include <locus/algorithms/sort.hpp>
#include <locus/algorithms/sort_by_key.hpp>
#include <locus/algorithms/top_k.hpp>
#include <locus/algorithms/trim.hpp>

#include "archive.hpp"

namespace numpy {

template <class T, class Way>
void sorts(archive& b) {
  auto const ids = Way::numbers(b, "ids", 7);
  if constexpr (std::is_same_v<T, float>) {  // numbers of bins have one type
    b.run<Way>("bincount(ids)", [](auto const& i) { return bincount<7>(i); }, ids);
    b.run<Way>("bincount(ids) open", [](auto const& i) { return bincount(i, 7); }, ids);
  }
  auto const x = Way::template list<T>(b, "x");
  b.run<Way>("run_lengths(x)", [](auto const& a) { return trim(run_lengths(a)); }, x);
  if constexpr (is_real<T>) {
    auto const w = Way::template list<T>(b, "w", draw::wild);
    auto const v = Way::template matrix<T>(b, "v", draw::wild);
    b.run<Way>("run_lengths(w)", [](auto const& a) { return trim(run_lengths(a)); }, w);
    b.run<Way>("unique(w)", [](auto const& a) { return trim(unique(a)); }, w);
    b.run<Way>("sort(w) axis=0", [](auto const& a) { return sort<0>(a); }, w);
    b.run<Way>("sort(v) axis=0", [](auto const& a) { return sort<0>(a); }, v);
    b.run<Way>("sort(v) axis=1", [](auto const& a) { return sort<1>(a); }, v);
    b.run<Way>("argsort(w) axis=0", [](auto const& a) { return argsort<0>(a); }, w);
    b.run<Way>("argsort(v) axis=1", [](auto const& a) { return argsort<1>(a); }, v);
    b.run<Way>(
        "sort_by_key(w,ids) axis=0",
        [](auto const& a, auto const& i) { return sort_by_key<0>(a, i); }, w, ids);
    b.run<Way>(
        "sort_by_key(ids,w) axis=0",
        [](auto const& i, auto const& a) { return sort_by_key<0>(i, a); }, ids, w);
    if (b.rows() >= 3)
      if constexpr (Way::known == dyn || Way::known >= 3) {
        b.run<Way>(
            "top_k(w) axis=0 k=3", [](auto const& a) { return results_of(top_k<3, 0>(a)); }, w);
        b.run<Way>(
            "top_k(v) axis=0 k=3 smallest",
            [](auto const& a) { return results_of(top_k<3, 0>(a, smallest)); }, v);
      }
    b.run<Way>("top_k(v) axis=1 k=2", [](auto const& a) { return results_of(top_k<2, 1>(a)); }, v);
    auto rising = Way::template list<T>(b, "rising");
    std::sort(rising.value.data(), rising.value.data() + rising.value.size());
    b.run<Way>(
        "search_sorted(rising,m)", [](auto const& s, auto const& a) { return search_sorted(s, a); },
        rising, Way::template matrix<T>(b, "m"));
    b.run<Way>(
        "search_sorted(rising,w) right",
        [](auto const& s, auto const& a) { return search_sorted(s, a, behind_equal); }, rising, w);
    b.run<Way>(
        "histogram(x) low=-5 high=5 bins=10", [](auto const& a) { return histogram<10>(a, -5, 5); },
        x);
    b.run<Way>(
        "histogram(v) low=-5 high=5 bins=10 open",
        [](auto const& a) { return histogram(a, -5, 5, 10); }, v);
    auto edges = Way::template few<7, T>("edges");
    std::sort(edges.value.data(), edges.value.data() + edges.value.size());
    b.run<Way>(
        "histogram(x,edges)", [](auto const& a, auto const& e) { return histogram(a, e); }, x,
        edges);
  }
}

}  // namespace numpy
