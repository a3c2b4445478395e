import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

const burstBytes = 256 * 1024
const pauseMs = 20

/**
 * Reads a stream's text at no more than about 12 MiB a second: backpressure slows a process that prints without a
 * pause, and the event loop stays free. Invalid UTF-8 and NUL, which the store cannot keep, are replaced.
 */
export function readPaced(stream: Readable, take: (text: string) => void): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const passText = (text: string) => {
    if (text !== '') take(text.replaceAll('\0', '\u2400'))
  }
  let leftBytes = burstBytes
  stream.on('data', (chunk: Buffer) => {
    passText(decoder.write(chunk))
    leftBytes -= chunk.length
    if (leftBytes > 0) return
    stream.pause()
    leftBytes = burstBytes
    setTimeout(() => stream.resume(), pauseMs)
  })
  return new Promise(resolve => {
    stream.once('close', () => {
      passText(decoder.end())
      resolve()
    })
  })
}
