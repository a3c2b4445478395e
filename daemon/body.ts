import type { IncomingMessage } from 'node:http'
import { Problem } from '../src/contract/errors.ts'

export const maxJsonBytes = 1024 * 1024
/** A body may take so long, and from then on as long as so much of it comes in each second. */
const [patienceMs, leastBytesPerSec] = [10_000, 16_384]

/**
 * Reads a JSON body of at most 1 MiB. No body is an empty object.
 * @throws Problem UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, REQUEST_TIMEOUT, INVALID_JSON
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const declared = Number(request.headers['content-length'] ?? (request.headers['transfer-encoding'] ? Number.NaN : 0))
  if (declared === 0) return {}
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('UNSUPPORTED_MEDIA_TYPE')
  if (declared > maxJsonBytes) throw new Problem('BODY_TOO_LARGE', `The body may have at most ${maxJsonBytes} bytes.`)
  const bytes = await readBytes(request)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch (error) {
    throw new Problem('INVALID_JSON', undefined, { cause: error })
  }
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (settle: () => void) => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
      settle()
    }
    const fail = (problem: Problem) =>
      finish(() => {
        request.resume()
        reject(problem)
      })
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxJsonBytes)
        return fail(new Problem('BODY_TOO_LARGE', `The body may have at most ${maxJsonBytes} bytes.`))
      chunks.push(chunk)
    }
    const onEnd = () => finish(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    const onError = (error: Error) => fail(new Problem('INVALID_JSON', 'The body broke off.', { cause: error }))
    const onClose = () => fail(new Problem('INVALID_JSON', 'The body broke off.'))
    const began = performance.now()
    const look = () => {
      if (size < (leastBytesPerSec * (performance.now() - began)) / 1000) return fail(new Problem('REQUEST_TIMEOUT'))
      timer = setTimeout(look, 1000)
    }
    let timer = setTimeout(look, patienceMs)
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  })
}
