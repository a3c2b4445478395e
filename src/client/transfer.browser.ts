import { dataOf } from './envelope.ts'
import { openExchange } from './exchange.ts'
import { fileOf, responseMarkers, type FileHead } from './fileHeaders.ts'
import { headersOf, parseJson, toUnreachable, type CallOptions, type Connection } from './http.ts'
import { askRenewed } from './place.ts'

/** A file from the server. */
export interface Download extends FileHead {
  body: Blob
}
/** A file to send to the server, with a callback for the progress in bytes. */
export interface Upload {
  file: Blob
  filename: string
  onProgress?: (sentBytes: number, totalBytes: number) => void
}

/**
 * Downloads a file, or a response without a name, as a whole.
 * @throws ApiFailure | Unreachable
 */
export async function download(
  connection: Connection,
  { method, transfer }: { method: string; transfer: 'file' | 'raw' },
  path: string,
  input?: unknown,
  options?: CallOptions,
): Promise<Download> {
  const sent = input === undefined ? undefined : JSON.stringify(input)
  const url = urlOf(connection, path)
  const { status, headers, body } = await askRenewed(connection, method === 'GET', () =>
    openExchange(url, {
      method,
      body: sent,
      headers: headersOf(connection, sent, options),
      signal: options?.signal,
      timeoutMs: 0,
    }).catch((error: unknown) => {
      throw toUnreachable(url, options?.signal, error)
    }),
  )
  if (status >= 300 || headers[responseMarkers[transfer]] === undefined)
    dataOf(connection.url, { status, headers, body: parseJson(await body.text()), asked: { path } })
  return { ...fileOf(headers), body: await body.blob() }
}

/**
 * Sends a file as the field `file` of a multipart body. Uses XMLHttpRequest, because fetch reports no progress.
 * @throws ApiFailure | Unreachable
 */
export async function upload(
  connection: Connection,
  path: string,
  { file, filename, onProgress }: Upload,
  options?: CallOptions,
): Promise<unknown> {
  const url = urlOf(connection, path)
  const form = new FormData()
  form.append('file', file, filename)
  const answer = await askRenewed(connection, false, () => post(url, form, { connection, onProgress, ...options }))
  return dataOf(connection.url, { ...answer, asked: { path } })
}

function post(
  url: URL,
  form: FormData,
  { connection, onProgress, signal, ...options }: CallOptions & { connection: Connection } & Pick<Upload, 'onProgress'>,
): Promise<{ status: number; headers: Record<string, string>; body: unknown }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', url)
    for (const [name, value] of Object.entries(headersOf(connection, undefined, options)))
      request.setRequestHeader(name, value)
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress?.(loaded, total))
    request.addEventListener('load', () =>
      resolve({ status: request.status, headers: headersIn(request), body: parseJson(request.responseText) }),
    )
    request.addEventListener('error', () => reject(toUnreachable(url, signal, new Error('the upload was interrupted'))))
    request.addEventListener('abort', () => reject(toUnreachable(url, signal, new Error('aborted'))))
    signal?.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}

const headersIn = (request: XMLHttpRequest): Record<string, string> =>
  Object.fromEntries(
    request
      .getAllResponseHeaders()
      .trim()
      .split(/\r?\n/)
      .map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )

const urlOf = ({ url }: Connection, path: string): URL => new URL(url.replace(/\/$/, '') + path)
