// Keystores that the program `hadoop credential create` of Hadoop 3.4.3 made with Java 17, as base64. Keys are derived
// in 10,000 rounds (-Djdk.jceks.iterationCount), so that tests are quick.
#pragma once

#include <string>
#include <string_view>

namespace tony {

inline std::string DecodedBase64(std::string_view base64) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char digit : base64.substr(0, base64.find('='))) {
    bits = bits << 6 | static_cast<unsigned>(kDigits.find(digit));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

// Has ssl.client.truststore.password "changeit". The password of the file is "none".
inline constexpr char kOnePassword[] =
    "zs7OzgAAAAIAAAABAAAAAwAec3NsLmNsaWVudC50cnVzdHN0b3JlLnBhc3N3b3JkAAABoiyVCyKs7QAFc3IAM2NvbS5zdW4uY3J5"
    "cHRvLnByb3ZpZGVyLlNlYWxlZE9iamVjdEZvcktleVByb3RlY3Rvcs1XylnnMLtTAgAAeHIAGWphdmF4LmNyeXB0by5TZWFsZWRP"
    "YmplY3Q+Nj2mw7dUcAIABFsADWVuY29kZWRQYXJhbXN0AAJbQlsAEGVuY3J5cHRlZENvbnRlbnRxAH4AAkwACXBhcmFtc0FsZ3QA"
    "EkxqYXZhL2xhbmcvU3RyaW5nO0wAB3NlYWxBbGdxAH4AA3hwdXIAAltCrPMX+AYIVOACAAB4cAAAABAwDgQIKORvSjeiaw0CAicQ"
    "dXEAfgAFAAAAiJhuvwMHR5N4wW86UOAt7DdJjUMWho8vYEREF4KFlfsMljYTF7xgz95xjmFtj9fjmAUkkVCWpFcI2sNEBwcE+C+z"
    "hN60WRk8mm6OAqlCuhvWvyS4n7GXVsRM1fQ+iV8k4sSGMwaI40t8/d8wkKr2hV0jW/jA8j+mUcPhUqsTu/+0Grw0RNRBYaJ0ABZQ"
    "QkVXaXRoTUQ1QW5kVHJpcGxlREVTdAAWUEJFV2l0aE1ENUFuZFRyaXBsZURFU/6OZXpnuKPai6rAugX/8OjmOrt8";
// Has Other.Name "pa ss-w0rd", and ssl.client.truststore.password "changeit". The password of the file is "secret1".
inline constexpr char kTwoPasswords[] =
    "zs7OzgAAAAIAAAACAAAAAwAec3NsLmNsaWVudC50cnVzdHN0b3JlLnBhc3N3b3JkAAABoiyVFues7QAFc3IAM2NvbS5zdW4uY3J5"
    "cHRvLnByb3ZpZGVyLlNlYWxlZE9iamVjdEZvcktleVByb3RlY3Rvcs1XylnnMLtTAgAAeHIAGWphdmF4LmNyeXB0by5TZWFsZWRP"
    "YmplY3Q+Nj2mw7dUcAIABFsADWVuY29kZWRQYXJhbXN0AAJbQlsAEGVuY3J5cHRlZENvbnRlbnRxAH4AAkwACXBhcmFtc0FsZ3QA"
    "EkxqYXZhL2xhbmcvU3RyaW5nO0wAB3NlYWxBbGdxAH4AA3hwdXIAAltCrPMX+AYIVOACAAB4cAAAABAwDgQIoDukV8VdnM0CAicQ"
    "dXEAfgAFAAAAiF0TZqSAumUKxSyploL7wU1+mLQ590spOHi1Rd1++L8r3WgBnJ6ZPUY6s2hfb0J1ivWY1viYmirtfLT6JAvcGyKO"
    "0bY/H09CNaq5EaGpc4rvfYVUVT7NPsDDGbpCR5HxuXhpze11RYzIioUTlaBFgGaZJ0L57wge0yHaNGVLuX1GJhbVsz8vjeN0ABZQ"
    "QkVXaXRoTUQ1QW5kVHJpcGxlREVTdAAWUEJFV2l0aE1ENUFuZFRyaXBsZURFUwAAAAMACm90aGVyLm5hbWUAAAGiLJUPjaztAAVz"
    "cgAzY29tLnN1bi5jcnlwdG8ucHJvdmlkZXIuU2VhbGVkT2JqZWN0Rm9yS2V5UHJvdGVjdG9yzVfKWecwu1MCAAB4cgAZamF2YXgu"
    "Y3J5cHRvLlNlYWxlZE9iamVjdD42PabDt1RwAgAEWwANZW5jb2RlZFBhcmFtc3QAAltCWwAQZW5jcnlwdGVkQ29udGVudHEAfgAC"
    "TAAJcGFyYW1zQWxndAASTGphdmEvbGFuZy9TdHJpbmc7TAAHc2VhbEFsZ3EAfgADeHB1cgACW0Ks8xf4BghU4AIAAHhwAAAAEDAO"
    "BAhmXdq6yn+cTgICJxB1cQB+AAUAAACI2UC85P5vbIVXyzFYSCesQb21ao5wuN9bJD1GMx1k6ElY17OxOEhAML2SI7pGgTanMU6M"
    "Z51hWbioB+eAaszhGFwAmMV8E+gtEQuXoLKJOL3b5IzF+VL2kqL1M+HMXtjoMQdZf3i1qrwPXlHkpKrQM6Qtbth9rw3oCmQeehqT"
    "xD0GWQ3dW5fzDHQAFlBCRVdpdGhNRDVBbmRUcmlwbGVERVN0ABZQQkVXaXRoTUQ1QW5kVHJpcGxlREVTYfO7PPAfSBAfx0JeKOqP"
    "d9fuMOk=";

}  // namespace tony
