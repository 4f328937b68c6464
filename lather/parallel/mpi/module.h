/* What the module lather_mpi.so offers: MPI in terms of bytes; nothing from mpi.h gets into the rest. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHER_MPI_VERSION 1

typedef struct {
  int rank, size, local_rank, local_size;
} LatherMpiPlace;

typedef struct {
  int version;
  /* Describes the library, without starting it. */
  void (*describe)(char* text, int capacity);
  /* Joins the other ranks. */
  LatherMpiPlace (*start)(void);
  /* Starts sending send[p] to and receiving receive[p] from every other rank p. */
  void* (*begin)(const void* const* send, const size_t* send_sizes, void* const* receive,
                 const size_t* receive_sizes);
  /* 1: all of it is done, and the exchange is freed. */
  int (*done)(void* exchange);
  void (*finish)(void);      /* all ranks together */
  void (*abort)(int status); /* ends all ranks; does not return */
} LatherMpi;

#ifdef __cplusplus
}
#endif
