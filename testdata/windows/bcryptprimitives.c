/* Wine 8 has no bcryptprimitives.dll, from which Go's runtime takes its random
   bytes. This one passes the request on to the generator of advapi32. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size); /* RtlGenRandom */

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T size)
{
    while (size > 0) {
        ULONG part = size > 0x10000000 ? 0x10000000 : (ULONG)size;
        if (!SystemFunction036(buffer, part))
            return FALSE;
        buffer += part;
        size -= part;
    }
    return TRUE;
}
