#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A number as somebody wrote it by hand.
struct Written {
  double value = 0.0;
  double slack = 0.0;     ///< how far it may be from the number that was rounded to it
  bool is_whole = false;  ///< written as a whole number, which may be one or be rounded to one
};

/// "3", "0.33" (or with a comma), "3/7", "sqrt(2)/2", "2·(1 − exp(−1))", "−∞": numbers with + − · / ^,
/// parentheses, sqrt or √, exp and tanh. A decimal is taken for rounded in its last digit, perhaps
/// twice, so 0.33 has a slack of 0.0055; whole numbers are exact, fractions and roots of them too. None of
/// what is no number.
std::optional<Written> written_number(std::string_view text);

/// The numbers of one tensor, with nothing where the text is blank or a question mark. Beside decimals a
/// whole number counts as rounded to as many digits as the shortest of them: 0 beside 0.98 and 0.02 may be
/// 0.004. Throws Error, with `place` and the text, for one that is no number.
std::vector<std::optional<Written>> written_numbers(const std::vector<std::string>& texts,
                                                    std::string_view place);

/// How a worksheet writes the numbers of a tensor: each in full where all of them can be, as decimals of at
/// most four digits or, if asked for, as fractions; else all with four digits after the point.
std::vector<std::string> as_written(const std::vector<double>& numbers, bool in_fractions);

/// The number in full, if it can be written so. None of another.
std::optional<std::string> written_in_full(double number, bool in_fractions);

/// "3", "-2", "3/7": the number as a fraction whose denominator has four digits at most. None where it is
/// another.
std::optional<std::string> as_fraction(double number);

}  // namespace attn
