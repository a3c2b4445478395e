import { renderUnicodeCompact } from 'uqr'
import { isLoopbackHost } from '../../src/contract/networkHosts.ts'
import type { Out } from '../output/output.ts'
import { writeStderr } from '../output/streams.ts'

interface Address {
  /** The address of the server on this machine. */
  url: string
  publicUrl?: string
  allowHost?: readonly string[]
}

/**
 * Draws a QR code with the server's address on a terminal. The listener's own QR code is part of its banner, which shows
 * addresses that the board rejects. This function uses the same drawing code.
 */
export async function drawAddress(out: Out, { url, publicUrl, allowHost = [] }: Address): Promise<void> {
  if (!out.terminal.stderr) return
  const address = new URL(publicUrl ?? url)
  if (isLoopbackHost(address.hostname) && allowHost[0] !== undefined) address.hostname = allowHost[0]
  const text = address.href.replace(/\/$/, '')
  if (isLoopbackHost(address.hostname))
    return out.warn(
      `no QR code: ${text} cannot be opened on another device; set the address for other devices with --public-url`,
    )
  writeStderr(`\n${renderUnicodeCompact(text)}\n${text}\n`)
}
