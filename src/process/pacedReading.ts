import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

const burstBytes = 256 * 1024
const pauseMs = 20

/**
 * Reads the text of a stream to its end, at most about 12 MiB a second: who prints without a pause waits, and the server goes
 * on with its other work. Bytes that are no UTF-8 are replaced, and NUL, which the store cannot keep.
 */
export function readPaced(stream: Readable, take: (text: string) => void): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const tell = (text: string) => {
    if (text !== '') take(text.replaceAll('\0', '\u2400'))
  }
  let leftBytes = burstBytes
  stream.on('data', (chunk: Buffer) => {
    tell(decoder.write(chunk))
    leftBytes -= chunk.length
    if (leftBytes > 0) return
    stream.pause()
    leftBytes = burstBytes
    setTimeout(() => stream.resume(), pauseMs)
  })
  return new Promise(resolve => {
    stream.once('close', () => {
      tell(decoder.end())
      resolve()
    })
  })
}
