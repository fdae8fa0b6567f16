/* GOSSAMER_API marks what the shared library shows: everything else of it is hidden. */
#ifndef GOSSAMER_EXPORT_H
#define GOSSAMER_EXPORT_H

#if !defined(_WIN32)
#define GOSSAMER_API __attribute__((visibility("default")))
#elif defined(GOSSAMER_SHARED_BUILD)
#define GOSSAMER_API __declspec(dllexport)
#elif defined(GOSSAMER_SHARED)
#define GOSSAMER_API __declspec(dllimport)
#else
#define GOSSAMER_API
#endif

#endif
