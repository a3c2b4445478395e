import type { Contract } from '../contract/index.ts'
import { paramsOf } from '../contract/paths.ts'
import type { Output, Route, Sent } from '../contract/route.ts'
import { resources } from './resources.ts'
import { sendJson, type CallOptions, type Connection } from './http.ts'
import type { Download, Upload } from './transfer.ts'

export { ApiFailure, Unreachable } from './failures.ts'
export type { Connection } from './http.ts'
export type { Download } from './transfer.ts'

type Input<R extends Route> = R['transfer'] extends 'upload' ? Sent<R> & { file: Upload } : Sent<R>
type Result<R extends Route> = R['transfer'] extends 'file' | 'raw' ? Download : Output<R>
type Call<R extends Route> =
  {} extends Input<R>
    ? (input?: Input<R>, options?: CallOptions) => Promise<Result<R>>
    : (input: Input<R>, options?: CallOptions) => Promise<Result<R>>
type Calls<Rows> = { [Name in keyof Rows]: Rows[Name] extends Route ? Call<Rows[Name]> : never }

/** Long operations end before this timeout, because the server limits its waits for Git and forges. */
const longMs = 10 * 60_000

/** Every route of the contract as a typed function, by resource. */
export type Client = { [Resource in keyof Contract]: Calls<Contract[Resource]> }

/** Creates the typed functions for one server: `client.cards.move({ projectId, cardId, columnId })`. */
export function createClient(connection: Connection): Client {
  const client: Partial<Record<string, unknown>> = {}
  for (const [resource, load] of Object.entries(resources)) client[resource] = callsOf(connection, load)
  return client as Client
}

/** The functions of a resource, whose routes are loaded on the first call. */
const callsOf = (connection: Connection, load: (call: string) => Promise<Record<string, Route>>) =>
  new Proxy(
    {},
    {
      // Hide `then`, so that `await` does not treat the proxy as a promise.
      get: (_, name) =>
        typeof name === 'symbol' || name === 'then'
          ? undefined
          : async (input: Record<string, unknown> = {}, options?: CallOptions) =>
              call(connection, (await load(name))[name]!, input, options),
    },
  )

async function call(
  connection: Connection,
  route: Route,
  input: Record<string, unknown>,
  options?: CallOptions,
): Promise<unknown> {
  const { path, rest } = distributeInput(route, input)
  const { transfer } = route
  const body = route.input !== undefined && route.body === 'json' ? rest : undefined
  if (transfer === undefined)
    return sendJson(
      connection,
      route.method,
      path,
      body,
      route.takesLong ? { patienceMs: longMs, ...options } : options,
    )
  const { download, upload } = await import('./transfer.ts')
  return transfer === 'upload'
    ? upload(connection, path, rest.file as Upload, options)
    : download(connection, { method: route.method, transfer }, path, body, options)
}

/** Distributes the input's fields: path, then query or body. The body of an upload is only the file. */
function distributeInput(
  route: Route,
  input: Record<string, unknown>,
): { path: string; rest: Record<string, unknown> } {
  const rest = { ...input }
  let path: string = route.path
  for (const name of paramsOf(route.path)) {
    path = path.replace(`{${name}}`, encodeURIComponent(String(rest[name])))
    delete rest[name]
  }
  if (route.body === 'json') return { path, rest }
  const isUpload = route.body === 'multipart'
  const { file, ...asked } = isUpload ? rest : { ...rest, file: undefined }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(asked))
    if (value !== undefined && value !== null) query.set(name, String(value))
  return { path: query.size > 0 ? `${path}?${query}` : path, rest: isUpload ? { file } : {} }
}
