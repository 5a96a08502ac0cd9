// SPDX-License-Identifier: Apache-2.0
// digamma and trigamma: against values of 40 digits, against another algorithm in long double at random
// arguments, at their poles, and in kernels. lgamma: against values of 40 digits and libm's of long double.
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <locus/locus.hpp>
#include <random>

using namespace locus;

namespace {

using wide = long double;
constexpr double allowed = 4;

struct known {
  double x;
  wide digamma, trigamma;
};
// mpmath with 40 digits: the zero above 0, simple arguments, the ends of the range, random ones
constexpr known known_values[] = {
    {0x1.762d86356be3fp+0, -9.24126552172942751679235e-17L, 0.96767224544762125499517L},
    {0x1.0000000000000p+0, -0.577215664901532860606512L, 1.64493406684822643647242L},
    {0x1.0000000000000p-1, -1.96351002602142347944098L, 4.93480220054467930941725L},
    {0x1.0000000000000p+1, 0.422784335098467139393488L, 0.644934066848226436472415L},
    {0x1.56e1fc2f8f359p-997, -9.99999999999999974940908e+299L, HUGE_VALL},
    {-0x1.56e1fc2f8f359p-997, 9.99999999999999974940908e+299L, HUGE_VALL},
    {0x1.7e43c8800759cp+996, 690.775527898213705257902L, 9.9999999999999994749524e-301L},
    {0x1.4000000000000p+3, 2.25175258906672110764746L, 0.105166335681685746122201L},
    {0x1.3ffffffffffffp+3, 2.25175258906672092083452L, 0.105166335681685765750651L},
    {0x1.093985a5378c4p-2, -4.07759821806229380177468L, 16.0918534398582249837809L},
    {0x1.5eda22ba35e7dp-1, -1.26251648401851639222224L, 2.93180532303024737999749L},
    {0x1.5e3ffc33540b5p-1, -1.26596923984833792655391L, 2.93986069681682712222983L},
    {0x1.b2dc3078f5b92p-1, -0.856662656238343666740612L, 2.09822710509121468379095L},
    {0x1.7c5cf4a6ea1c0p-3, -5.69161365765562397980597L, 30.2798086490475723634105L},
    {0x1.3b05e39551646p+0, -0.250985656980058023729L, 1.22367850061354986178084L},
    {0x1.25ac45bbd0bd7p+0, -0.358154861748897244277655L, 1.35027218444324928845288L},
    {0x1.39a4473482b8ap+0, -0.257608442533171968026372L, 1.23118635622249794412738L},
    {0x1.bbe8f885fef82p+0, 0.235192599404199549981115L, 0.773182174196144230820467L},
    {0x1.2155a4024436bp+0, -0.381280018664170244278719L, 1.37904922507914467557676L},
    {0x1.90087cb6216eep+2, 1.75054338766220618088854L, 0.173463683252620199232634L},
    {0x1.db0a935f5212ap+1, 1.17063860736679406964154L, 0.30896736534672869975798L},
    {0x1.16dd4001eb17fp+2, 1.35272417024411759166536L, 0.257832224170044232836145L},
    {0x1.5cf818c8153eap+2, 1.60160812121875727820161L, 0.201235923572375064375014L},
    {0x1.1670a835e4a54p+3, 2.10490471807840518727924L, 0.121782308284651529665154L},
    {0x1.3228b85da06d4p+9, 6.41643517056610431188465L, 0.00163447229533148961831053L},
    {0x1.849bee46173fep+4, 3.16925776371812277267902L, 0.0420316934641387807234996L},
    {0x1.1b14179e81346p+8, 5.64395685823104736997572L, 0.00353883613953927761869826L},
    {0x1.367c872a067a7p+7, 5.04176882978919999499976L, 0.00646229623622746543229077L},
    {-0x1.be190832d2b22p-1, -7.0047029386109866013277L, 63.0576292093599609895427L},
    {-0x1.9e9630b8dac1dp-1, -4.32244414267591901474777L, 30.4321271662203721716745L},
    {-0x1.9cb22bd0cbfc8p-1, -4.211991945320854424339L, 29.3986586047831823463056L},
    {-0x1.a7195b9cde437p-1, -4.87207886207625038105476L, 35.9404942121435942467183L},
    {-0x1.7d4fe45bf3f5cp-1, -2.79618384645089777939058L, 18.3419354300539269822508L},
    {-0x1.c87c6ec81766fp+4, 3.06764902879737027989736L, 9.92560762710485818953674L},
    {-0x1.804f3db8ddea3p+4, 54.8262165405276437974875L, 2675.14341114178618722779L},
    {-0x1.0e3999bd43f85p+3, 2.7446255310136406081137L, 10.063799471480597150847L},
    {-0x1.9a5f27db92d86p+4, 1.68504666934339438073955L, 12.3239617636548303515882L},
    {-0x1.e3bca7f032289p+3, 10.9239976291888556049275L, 76.6440816979225283930212L},
    {-0x1.6e5260a1e1fc4p+4, -6.03375476051398668073626L, 94.2160395285173468843044L},
    {-0x1.15c2a3a8ec25bp+4, 4.36078312912015096546605L, 11.9983719213757108362123L},
    {-0x1.4fbdc12c0ead8p+15, 2.9268963479264076422329L, 69.8001906702081737595949L},
    {-0x1.1caeac424911dp+15, 12.2765210498882220764062L, 13.0134718699153665084324L},
    {-0x1.4feeaa32ad538p+15, 12.494817745183954916945L, 13.2033686998640001849161L},
    {-0x1.ea92e51c81c65p+14, 7.69270935041872077813469L, 16.9545676050238163067743L},
};

// By steps up to 40 and Stirling's series, below 0 by the tangent of libm.
wide right_digamma(wide x) {
  if (x < 0) {
    wide const r = x - std::rint(x);
    return right_digamma(1 - x) - M_PIl / std::tan(M_PIl * r);
  }
  wide steps = 0;
  for (; x < 40; x += 1) steps += 1 / x;
  wide const z = 1 / (x * x);
  return std::log(x) - 1 / (2 * x) -
         z * (1 / 12.L -
              z * (1 / 120.L -
                   z * (1 / 252.L - z * (1 / 240.L - z * (1 / 132.L - z * 691 / 32760.L))))) -
         steps;
}
wide right_trigamma(wide x) {
  if (x < 0) {
    wide const s = std::sin(M_PIl * (x - std::rint(x)));
    return M_PIl * M_PIl / (s * s) - right_trigamma(1 - x);
  }
  wide steps = 0;
  for (; x < 40; x += 1) steps += 1 / (x * x);
  wide const z = 1 / (x * x);
  return 1 / x + z / 2 +
         z / x * (1 / 6.L - z * (1 / 30.L - z * (1 / 42.L - z * (1 / 30.L - z * (5 / 66.L))))) +
         steps;
}

/// what got is off, in units in the last place of the larger of right and least
template <class T>
double units(T got, wide right, wide least = 0) {
  auto const scale = static_cast<T>(std::fmax(std::fabs(right), least));
  if (std::isinf(scale)) return got == static_cast<T>(right) ? 0 : HUGE_VAL;
  wide const unit = std::nextafter(scale, T(HUGE_VAL)) - scale;
  double const off = static_cast<double>(std::fabs(static_cast<wide>(got) - right) / unit);
  return off >= 0 ? off : HUGE_VAL;  // NaN is wrong
}
/// below 0 digamma is a difference, so that its zeros there have no digits of their own
wide least_of_digamma(wide x) {
  return x > 0 ? 0 : std::fmax(wide(1), std::fabs(right_digamma(1 - x)));
}

template <class T>
void check_random() {
  std::mt19937_64 bits(17);
  double worst_digamma = 0, worst_trigamma = 0;
  T digamma_at = 0, trigamma_at = 0;
  for (int i = 0; i < 60000; ++i) {
    double const u = static_cast<double>(static_cast<std::int64_t>(bits())) * 0x1p-63;
    double const ranges[] = {1, 2, 12, 40, 1000, std::ldexp(1, int(bits() % 100) - 60)};
    T const x = static_cast<T>(u * ranges[i % 6]);
    if (x == 0 || (x < 0 && x == std::rint(x))) continue;
    wide const v = static_cast<wide>(x), y = right_digamma(v);
    // within 1/16 of the zero, long double has too few digits: known_values has the zero itself
    wide const least = x > 0 ? wide(0.0625) : least_of_digamma(v);
    if (double const d = units<T>(digamma_fn{}(x), y, least); d > worst_digamma)
      worst_digamma = d, digamma_at = x;
    if (double const d = units<T>(trigamma_fn{}(x), right_trigamma(v)); d > worst_trigamma)
      worst_trigamma = d, trigamma_at = x;
  }
  CHECK_MESSAGE(worst_digamma <= allowed, "digamma of ", digamma_at);
  CHECK_MESSAGE(worst_trigamma <= allowed, "trigamma of ", trigamma_at);
}
template <class T>
void check_poles() {
  T const inf = static_cast<T>(HUGE_VAL), nan = static_cast<T>(NAN);
  CHECK(digamma_fn{}(T(0)) == -inf);
  CHECK(digamma_fn{}(T(-0.0)) == inf);
  CHECK(digamma_fn{}(inf) == inf);
  CHECK(trigamma_fn{}(inf) == 0);
  for (T x : {T(-1), T(-2), T(-1e30), -inf, nan}) CHECK(std::isnan(digamma_fn{}(x)));
  for (T x : {T(0), T(-0.0), T(-1), T(-2), T(-1e30)}) CHECK(trigamma_fn{}(x) == inf);
  for (T x : {-inf, nan}) CHECK(std::isnan(trigamma_fn{}(x)));
}
struct known_lgamma {
  double x;
  wide lgamma;
};
// mpmath with 40 digits: near the zeros, where the algorithm changes, both ends, below 0
constexpr known_lgamma known_lgammas[] = {
    {0x1.0000000001000p+0, -5.24974589007601781483782e-13L},
    {0x1.ffffffffff000p-1, 2.62487294504311137330275e-13L},
    {0x1.0000000001000p+1, 7.69040225530359209206434e-13L},
    {0x1.ffffffffffc00p+0, -9.61300281911448607567966e-14L},
    {0x1.8000000000000p-1, 0.203280951431295371481433L},
    {0x1.7ffffffffffffp-1, 0.203280951431295492036208L},
    {0x1.8000000000000p+0, -0.120782237635245222345518L},
    {0x1.7ffffffffffffp+0, -0.12078223763524523044792L},
    {0x1.8000000000000p+1, 0.693147180559945309417232L},
    {0x1.7ffffffffffffp+1, 0.693147180559944899618666L},
    {0x1.4000000000000p+3, 12.8018274800814696112077L},
    {0x1.4000000000000p+3, 12.8018274800814696112077L},
    {0x1.56e1fc2f8f359p-997, 690.775527898213705180338L},
    {-0x1.56e1fc2f8f359p-997, 690.775527898213705180338L},
    {0x1.70ef54646d497p-57, 39.1439465808987765509913L},
    {-0x1.0000000000000p-2, 1.5895753125511859903159L},
    {-0x1.0000000000002p-2, 1.58957531255118566678146L},
    {0x1.0000000000000p-1, 0.572364942924700087071714L},
    {0x1.9200000000000p+6, 361.435540467777621555252L},
    {0x1.2a05f20000000p+33, 220258509288.810581470042L},
    {0x1.249ad2594c37dp+332, 2.29258509299404572063575e+102L},
    {0x1.6c8e5ca239029p+1014, 1.75551186023764525199272e+308L},
    {0x1.e759ff97b7508p-1, 0.0297403901862102232857375L},
    {0x1.16a5368858d8dp+1, 0.0845367867729686417665495L},
    {0x1.7ad586f53dadep+0, -0.121327107806870322620961L},
    {0x1.353501de56e4ap+1, 0.227160076567883442228109L},
    {0x1.405e69652cae3p+1, 0.286710851329347723329553L},
    {0x1.0c67fd3611240p-2, 1.23803022102626487226479L},
    {0x1.ad8232389c0b4p+1, 1.04510988316126744893081L},
    {0x1.99c9617756aafp+4, 56.7488605310481326161585L},
    {0x1.4014f5537c17fp+3, 12.8075886784528168530188L},
    {0x1.2a764260b5573p+3, 11.3106569843506361630315L},
    {-0x1.dde8d65f0764dp+4, -72.148532743059037998874L},
    {-0x1.c373f5a8eab7ap+3, -23.2344687787704533322875L},
    {-0x1.91806214fa55bp+4, -55.9270578586197334422951L},
    {-0x1.c94c9087a7f96p+3, -24.5924620529675144338729L},
    {-0x1.32c0b16fa94cbp+4, -38.0425266001225527880997L},
    {-0x1.212efc17a949ap+2, -2.84122306395095119476742L},
};
/// below -1/4 lgamma is a difference, so that its zeros there have no digits of their own
wide least_of_lgamma(wide x) {
  return x >= -0.25L ? 0 : std::fmax(wide(1), std::fabs(std::lgamma(-x)));
}
template <class T>
void check_random_lgamma() {
  std::mt19937_64 bits(19);
  double worst = 0;
  T at = 0;
  for (int i = 0; i < 60000; ++i) {
    double const u = static_cast<double>(static_cast<std::int64_t>(bits())) * 0x1p-63;
    double const ranges[] = {1, 2, 12, 40, 1000, std::ldexp(1, int(bits() % 150) - 60)};
    T const x = static_cast<T>(u * ranges[i % 6]);
    if (x < 0 && x == std::rint(x)) continue;
    wide const v = static_cast<wide>(x);
    if (double const d = units<T>(lgamma_fn{}(x), std::lgamma(v), least_of_lgamma(v)); d > worst)
      worst = d, at = x;
  }
  CHECK_MESSAGE(worst <= allowed, "lgamma of ", at, ": ", worst);
  T const inf = static_cast<T>(HUGE_VAL), nan = static_cast<T>(NAN);
  for (T x : {T(0), T(-0.0), T(-1), T(-2), T(-1e30), -inf, inf}) CHECK(lgamma_fn{}(x) == inf);
  CHECK(std::isnan(lgamma_fn{}(nan)));
  CHECK(lgamma_fn{}(T(1)) == 0);
  CHECK(lgamma_fn{}(T(2)) == 0);
}
template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

}  // namespace

TEST_SUITE_BEGIN("ops/special_functions");

TEST_CASE("digamma and trigamma are at most 4 units off values that are known") {
  for (known const& row : known_values) {
    double const x = row.x;
    wide const d = row.digamma, t = row.trigamma;
    CAPTURE(x);
    CHECK(units<double>(digamma_fn{}(x), d, least_of_digamma(x)) <= allowed);
    CHECK(units<double>(trigamma_fn{}(x), t) <= allowed);
    // the judge of random arguments is itself right
    if (x > -1e4 && x < 1e4 && std::fabs(d) > 0.1L)
      CHECK(units<double>(static_cast<double>(right_digamma(x)), d) < 1);
    if (x > -1e4 && x < 1e4 && t < 1e300L)
      CHECK(units<double>(static_cast<double>(right_trigamma(x)), t) < 1);
  }
  float const zero = 0x1.762d86p+0f;  // digamma of it, by mpmath
  CHECK(units<float>(digamma_fn{}(zero), -1.20360525491066694878782e-8L) <= allowed);
}
TEST_CASE("digamma and trigamma of random arguments are at most 4 units off") {
  check_random<float>();
  check_random<double>();
}
TEST_CASE("lgamma is at most 4 units off, also at its zeros 1 and 2") {
  for (known_lgamma const& row : known_lgammas) {
    CAPTURE(row.x);
    CHECK(units<double>(lgamma_fn{}(row.x), row.lgamma, least_of_lgamma(row.x)) <= allowed);
  }
  check_random_lgamma<float>();
  check_random_lgamma<double>();
}
TEST_CASE("poles, infinities and NaN") {
  check_poles<float>();
  check_poles<double>();
}
TEST_CASE("a kernel gives the bits of the functors, whatever the length; halves are rounded once") {
  for (std::int64_t n : {1, 7, 64, 1003}) {
    Tensor<float, Dextents<1>> x(dextents<1>{n}), y(dextents<1>{n});
    Tensor<double, Dextents<1>> v(dextents<1>{n}), w(dextents<1>{n});
    Tensor<half, Dextents<1>> h(dextents<1>{n}), g(dextents<1>{n});
    for (std::int64_t i = 0; i < n; ++i) {
      x(i) = static_cast<float>(i % 400 - 190) / 31.f;
      v(i) = static_cast<double>(x(i)) * 1.1;
      h(i) = static_cast<half>(x(i));
    }
    y = abs(digamma(x)) + trigamma(x);
    w = abs(digamma(v)) + trigamma(v);
    g = digamma(h);
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      wrong += !same_bits(y(i), abs_fn{}(digamma_fn{}(x(i))) + trigamma_fn{}(x(i)));
      wrong += !same_bits(w(i), abs_fn{}(digamma_fn{}(v(i))) + trigamma_fn{}(v(i)));
      auto const rounded = static_cast<half>(digamma_fn{}(static_cast<float>(h(i))));
      wrong += !same_bits(static_cast<float>(g(i)), static_cast<float>(rounded));
    }
    CHECK(wrong == 0);
  }
}
TEST_CASE("digamma has a kernel on GPUs, too") {
  Tensor<float, Extents<4>> x{{0.25f, 1.5f, -2.25f, 20}};
  Tensor<float, Extents<4>> const y = eval(on<GpuDevice<0>>(digamma(x) * 2.f));
  static_assert(device_of<decltype(on<GpuDevice<0>>(digamma(x) * 2.f))> == "/GPU:0");
  for (int i = 0; i < 4; ++i) CHECK(y(i) == digamma_fn{}(x(i)) * 2.f);
}
TEST_SUITE_END();
