// SPDX-License-Identifier: Apache-2.0
// Names that headers of platforms and of other libraries define as macros: locus uses none of them.
#pragma once
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#define I trap()           // complex.h
#define B0 trap()          // termios.h
#define ECHO trap()        // termios.h
#define DOMAIN trap()      // math.h
#define OVERFLOW trap()    // math.h
#define major(d) trap()    // sys/sysmacros.h
#define minor(d) trap()    // sys/sysmacros.h
#define linux trap()       // g++ with its own extensions
#define unix trap()        // g++ with its own extensions
#define near trap()        // windef.h
#define far trap()         // windef.h
#define interface trap()   // objbase.h
#define IN trap()          // windef.h
#define OUT trap()         // windef.h
#define ERROR trap()       // wingdi.h
#define check(x) trap()    // Apple's AssertMacros.h
#define verify(x) trap()   // Apple's AssertMacros.h
#define require(x) trap()  // Apple's AssertMacros.h
#define small trap()       // rpcndr.h
#define emit trap()        // Qt's qtmetamacros.h
#define slots trap()       // Qt's qtmetamacros.h
#define signals trap()     // Qt's qtmetamacros.h
#define foreach trap()     // Qt's qforeach.h
#define forever trap()     // Qt's qforeach.h
