#include "api/beanstalk/options.h"

#include <gtest/gtest.h>

namespace reeve::api::beanstalk {
namespace {

Result<Options> parse(std::vector<std::string_view> words) { return parse_options(words); }

TEST(BeanstalkOptions, WithoutWordsItListensOnLoopbackAtTheUsualPort) {
  EXPECT_EQ(parse({}), Result<Options>(Options{}));
}

TEST(BeanstalkOptions, ValuesStandBesideTheirFlagsOrBehindThem) {
  Options expected;
  expected.address = "127.0.0.2:4000";
  expected.home = "/srv/jobs";
  expected.job_bytes = 100'000;
  EXPECT_EQ(parse({"-l", "127.0.0.2", "-p", "4000", "-b", "/srv/jobs", "-z", "100000"}),
            Result<Options>(expected));
  EXPECT_EQ(parse({"-l127.0.0.2", "-p4000", "-VVb", "/srv/jobs", "-z100000", "-f0"}),
            Result<Options>(expected));
}

TEST(BeanstalkOptions, AnAddressOfTheNetworkIsTakenAndSaidToBeOne) {
  for (const std::string_view host : {"0.0.0.0", "::", "192.168.1.5", "127.0.0.1.example.org"}) {
    const Result<Options> options = parse({"-l", host});
    EXPECT_TRUE(options->is_public) << host;
    EXPECT_EQ(options->notes.size(), 1u) << host;
  }
  EXPECT_EQ(parse({"-l", "::1"})->address, "[::1]:11300");
  EXPECT_EQ(parse({"-l", "unix:/run/b.sock"})->address, "unix:/run/b.sock");
  EXPECT_FALSE(parse({"-l", "unix:/run/b.sock"})->is_public);
}

TEST(BeanstalkOptions, WhatDoesNotApplyIsNoted) {
  const Result<Options> options =
      parse({"-f", "50", "-F", "-n", "-c", "-s", "1000", "-z", "2000000"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->notes.size(), 6u);
  EXPECT_EQ(options->job_bytes, 1048576u);
}

TEST(BeanstalkOptions, WhatCannotBeIsRefused) {
  for (const std::vector<std::string_view>& words :
       std::vector<std::vector<std::string_view>>{{"-u", "nobody"},
                                                  {"-p", "0"},
                                                  {"-p", "65536"},
                                                  {"-p", "x"},
                                                  {"-p"},
                                                  {"-z", "x"},
                                                  {"-f", "x"},
                                                  {"-s", "x"},
                                                  {"-q"},
                                                  {"now"},
                                                  {"-"},
                                                  {"--help"}}) {
    EXPECT_FALSE(parse(words)) << words.front();
  }
  EXPECT_EQ(parse({"--version"}).error().message, "unknown flag --version; try -h");
}

TEST(BeanstalkOptions, HelpAndVersionAreAskedForByLetters) {
  EXPECT_TRUE(parse({"-h"})->help);
  EXPECT_TRUE(parse({"-v"})->version);
}

}  // namespace
}  // namespace reeve::api::beanstalk
