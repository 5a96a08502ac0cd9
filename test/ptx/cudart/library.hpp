// SPDX-License-Identifier: Apache-2.0
// What stand-ins for CUDA's other libraries ask of the runtime: work in the order of a stream, and memory that
// this work reaches. These functions are the machine's own.
#pragma once
#include <cstddef>

extern "C" {
/// work(data) runs on the host, in the order of the stream; a code of CUDA. Counts name it so, with the bytes that it
/// touches and the multiplications of a product.
int ptx_submit(void* stream, void (*work)(void*), void* data, char const* name, std::size_t bytes,
               std::size_t multiplications);
/// From such work: where the host finds bytes of a card, which must all lie in one block that card reaches; what
/// does not ends the context, as in a kernel. reads: bytes that nobody wrote are a finding. `who` is named then.
void* ptx_reach(void const* p, std::size_t bytes, int card, bool reads, char const* who);
/// where the host finds what lies at an address, without a check
void* ptx_host(void const* p);
/// bytes that such work has written
void ptx_wrote(void const* p, std::size_t bytes);
/// the next work of each stream comes after all that all of them were given
void ptx_join(void* const* streams, int n);
/// runs all work that these streams were given; a code of CUDA
int ptx_finish(void* const* streams, int n);
/// the card where memory lies; -1: the host's
int ptx_card_of(void const* p);
int ptx_card_of_stream(void* stream);  // null: the current one
/// counts a call of a library's function; the code that a test planned for it, or 0
int ptx_called(char const* function);
/// a misuse of a library, said and counted
void ptx_report(char const* what);
}
