// SPDX-License-Identifier: Apache-2.0
// One statement, and the vector that it is assigned to.
#include <Eigen/Core>
using vector = Eigen::ArrayXf;
vector one(vector const& a, vector const& b, float s) {
  vector y(a.size());
  y = s * a + b;
  return y;
}
