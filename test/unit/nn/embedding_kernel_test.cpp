// SPDX-License-Identifier: Apache-2.0
// Rows of a table by number, and their gradient, against a map: widths around a register's, tables
// of one row, one token many times, guards around what is written.
#include <doctest/doctest.h>
#include <map>
#include <message_of.hpp>
#include <oracle.hpp>

#include <locus/config/settings.hpp>
#include <locus/nn/kernels/embedding.hpp>

using namespace locus;

namespace {

template <class T, class Token>
void check(int cases) {
  oracle::random r(sizeof(T) + sizeof(Token));
  for (int k = 0; k < cases; ++k) {
    std::int64_t const width = r.number(1, 40), rows = r.number(0, 3) ? r.number(1, 50) : 70000,
                       n = r.number(0, 4) ? r.number(0, 60) : 3000;
    std::vector<T> table(std::size_t(rows * width)), dy(std::size_t(n * width));
    std::vector<Token> tokens(static_cast<std::size_t>(n));
    for (T& x : table) x = r.value<T>(-1, 1);
    for (T& x : dy) x = r.value<T>(-1, 1);
    for (Token& t : tokens) t = static_cast<Token>(r.number(0, rows - 1));
    std::vector<T> y(dy.size() + 1, T(77)), sums(dy.size() + 1, T(77));
    std::vector<std::int32_t> unique(tokens.size() + 1, 77);
    nn::host::gather_rows(table.data(), rows, width, tokens.data(), n, y.data());
    auto const found = nn::host::sum_rows_by_token(rows, width, tokens.data(), n, dy.data(),
                                                   unique.data(), sums.data());
    std::map<std::int64_t, std::vector<T>> expected;
    bool good = true;
    for (std::int64_t i = 0; i < n; ++i) {
      auto const token = static_cast<std::int64_t>(tokens[std::size_t(i)]);
      auto& sum = expected[token];
      sum.resize(std::size_t(width));
      for (std::int64_t c = 0; c < width; ++c) {
        good &= y[std::size_t(i * width + c)] == table[std::size_t(token * width + c)];
        sum[std::size_t(c)] += dy[std::size_t(i * width + c)];
      }
    }
    CHECK(found == std::int64_t(expected.size()));
    std::size_t at = 0;
    for (auto const& [token, sum] : expected) {
      good &= unique[at] == token;
      for (std::size_t c = 0; c < sum.size(); ++c) good &= sums[at * sum.size() + c] == sum[c];
      ++at;
    }
    for (; at < tokens.size(); ++at) {
      good &= unique[at] == rows;
      for (std::int64_t c = 0; c < width; ++c)
        good &= sums[at * std::size_t(width) + std::size_t(c)] == 0;
    }
    CHECK(good);
    CHECK((y.back() == 77 && sums.back() == 77 && unique.back() == 77));
  }
}

}  // namespace

TEST_CASE("rows of a table, and sums of rows by token in the order of the tokens") {
  check<float, std::int32_t>(150);
  check<double, std::int64_t>(80);
}

TEST_CASE("no bit of the sums depends on the number of threads, and a bad token is named") {
  oracle::random r(4);
  std::vector<std::int32_t> tokens(20000);
  for (auto& t : tokens) t = static_cast<std::int32_t>(r.number(0, 300));
  std::vector<float> dy(tokens.size() * 8), first;
  for (float& x : dy) x = r.value<float>(-1, 1);
  for (int threads : {1, 2, 5}) {
    config::set_intra_op_parallelism_threads(threads);
    std::vector<float> sums(dy.size());
    std::vector<std::int32_t> unique(tokens.size());
    nn::host::sum_rows_by_token(301, 8, tokens.data(), 20000, dy.data(), unique.data(),
                                sums.data());
    if (threads == 1) first = sums;
    CHECK(sums == first);
  }
  config::set_intra_op_parallelism_threads(0);
  tokens[1234] = 301;
  std::vector<float> y(dy.size()), table(301 * 8);
  std::string const text = message_of<shape_error>([&] {
    nn::host::gather_rows(table.data(), 301, 8, tokens.data(), 20000, y.data(), 100, 40);
  });
  CHECK(text.find("token 301 at position 34 of example 52") != std::string::npos);
  CHECK(text.find("rows 0 to 300") != std::string::npos);
}
