// SPDX-License-Identifier: Apache-2.0
// Memory of a card for a test, given back at the end.
#pragma once
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

/// n numbers, wherever they are
template <class T>
std::vector<T> values(T const* p, std::size_t n) {
  std::vector<T> v(n);
  REQUIRE(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDefault) == cudaSuccess);
  return v;
}
template <class T>
struct on_card {
  T* p = nullptr;
  std::size_t n;
  /// nothing is written yet
  explicit on_card(std::size_t count) : n(count) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)) == cudaSuccess);
  }
  explicit on_card(std::vector<T> const& v) : on_card(v.size()) {
    REQUIRE(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyDefault) == cudaSuccess);
  }
  on_card(on_card const&) = delete;
  ~on_card() { cudaFree(p); }
  std::vector<T> values() const { return ::values(p, n); }
};
