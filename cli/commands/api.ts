import type { Command } from 'commander'
import { ApiFailure } from '../../src/client/failures.ts'
import { send, type Answer } from '../../src/client/http.ts'
import { contract } from '../../src/contract/index.ts'
import type { Route } from '../../src/contract/route.ts'
import { collect } from '../parsing/arguments.ts'
import { openContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example } from '../help/help.ts'
import { readText } from '../input/prompt.ts'
import { write } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'

interface Options {
  method?: string
  rawField?: string[]
  field?: string[]
  header?: string[]
  input?: string
  paginate?: boolean
  include?: boolean
  silent?: boolean
}
interface Call {
  method: string
  path: string
  body: string | undefined
  headers: Record<string, string>
}

export function register(command: Command): void {
  example(
    command
      .argument('<path>', 'path, such as /api/projects; {projectId} is replaced with the current project')
      .description(
        'Call any route of the API, and print the data of the response. /api/openapi.json describes all routes.',
      )
      .option('-X, --method <method>', 'HTTP method (default: GET, or POST with fields)')
      .option('-f, --raw-field <key=value>', 'text field of the body, or of the query with GET (repeatable)', collect)
      .option(
        '-F, --field <key=value>',
        'body field with a JSON type for true, false, null and numbers; @file reads the text from a file',
        collect,
      )
      .option('-H, --header <name: value>', 'header (repeatable)', collect)
      .option('--input <file>', 'file with the body, or - for stdin')
      .option('--paginate', 'fetch all pages, and print one list')
      .option('-i, --include', 'print the response status, headers and body verbatim')
      .option('--silent', 'print nothing'),
    'board api /api/projects',
    'board api /api/cards -f projectId=1 -f title="Fix the login"',
    'board api /api/projects/{projectId}/stats --jq .total',
    'board api /api/external/projects/1/cards --paginate',
  ).action((path: string, options: Options) => callApi(command, path, options))
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

async function callApi(command: Command, path: string, options: Options): Promise<void> {
  const context = await openContext(command)
  const call = await prepareCall(context, path, options)
  const answer = await sendCall(context, call)
  const parsed = parse(answer)
  if (options.include && !options.silent) printHead(context, answer)
  if (answer.status >= 400) {
    if (options.include && !options.silent) printBody(context, answer)
    throw new ApiFailure(answer.status, parsed, answer.headers, { path })
  }
  const isData = parsed !== null && typeof parsed === 'object' && Object.hasOwn(parsed, 'data')
  const data =
    options.paginate && isData
      ? await allPages(context, call, (parsed as { data: unknown }).data)
      : isData
        ? (parsed as { data: unknown }).data
        : parsed
  if (options.silent || answer.bytes.length === 0) return
  if ((options.include && !options.paginate) || parsed === undefined) return printBody(context, answer)
  await context.out.value(data)
}

async function prepareCall(context: Context, path: string, options: Options): Promise<Call> {
  const fields = Object.fromEntries([
    ...(options.rawField ?? []).map(text => parsePair(text, '-f')),
    ...(await Promise.all((options.field ?? []).map(parseTypedField))),
  ])
  const hasFields = Object.keys(fields).length > 0
  if (options.input !== undefined && hasFields) throw usage('--input and fields are mutually exclusive')
  const method = (options.method ?? (hasFields || options.input !== undefined ? 'POST' : 'GET')).toUpperCase()
  if (!methods.includes(method))
    throw usage(`${method} is not an HTTP method`, { hint: `known: ${methods.join(', ')}` })
  const target = await resolvePath(context, path)
  const inQuery = hasFields && (method === 'GET' || method === 'DELETE')
  const body =
    options.input !== undefined
      ? await readText(options.input, '--input')
      : hasFields && !inQuery
        ? JSON.stringify(fields)
        : undefined
  return {
    method,
    path: inQuery ? withQuery(target, fields) : target,
    body,
    headers: Object.fromEntries((options.header ?? []).map(parseHeader)),
  }
}

/**
 * Returns the path of the API route. A complete URL is rejected unless it is on the server, because the token must not go
 * anywhere else.
 */
async function resolvePath(context: Context, path: string): Promise<string> {
  const { url } = context.connection
  const local = path.startsWith(`${url}/`) ? path.slice(url.length) : path
  if (/^[a-z][a-z0-9+.-]*:/i.test(local) || local.startsWith('//'))
    throw usage(`the URL is not on the server ${url}`, { hint: 'specify the path only, and --url for another server' })
  const rooted = local.startsWith('/') ? local : local.startsWith('api/') ? `/${local}` : `/api/${local}`
  return rooted.includes('{projectId}') ? rooted.replaceAll('{projectId}', (await context.project()).id) : rooted
}

function withQuery(path: string, fields: Record<string, unknown>): string {
  const query = new URLSearchParams(
    Object.entries(fields).map(([key, value]): [string, string] => [key, String(value)]),
  )
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

function parsePair(text: string, flag: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw usage(`${flag} requires key=value, not "${text}"`)
  return [text.slice(0, at), text.slice(at + 1)]
}

async function parseTypedField(text: string): Promise<[string, unknown]> {
  const [key, value] = parsePair(text, '-F')
  if (value.startsWith('@')) return [key, await readText(value.slice(1), '-F')]
  return [key, /^(true|false|null|-?\d{1,15}(\.\d+)?)$/.test(value) ? JSON.parse(value) : value]
}

function parseHeader(text: string): [string, string] {
  const at = text.indexOf(':')
  if (at < 1 || /[\r\n]/.test(text)) throw usage('-H requires "name: value"')
  return [text.slice(0, at).trim().toLowerCase(), text.slice(at + 1).trim()]
}

async function sendCall(context: Context, { method, path, body, headers }: Call): Promise<Answer> {
  return send(context.connection, method, path, body, { headers })
}

/** Follows `nextCursor` until the last page. For a route that accepts an ID as cursor, uses the last ID of the list. */
async function allPages(context: Context, call: Call, first: unknown): Promise<unknown> {
  const takesCursor =
    routeOf(call)?.input !== undefined &&
    Object.hasOwn((routeOf(call)!.input as { entries?: object }).entries ?? {}, 'cursor')
  const items: unknown[] = []
  let page = first
  for (;;) {
    const list = Array.isArray(page) ? page : (page as { items?: unknown[] } | null)?.items
    if (!Array.isArray(list)) return first
    items.push(...list)
    const last = list.at(-1) as { id?: string | number } | undefined
    const next = Array.isArray(page)
      ? takesCursor
        ? last?.id
        : undefined
      : (page as { nextCursor?: string | number | null }).nextCursor
    if (next === undefined || next === null) return items
    const answer = await sendCall(context, { ...call, path: withCursor(call.path, next) })
    if (answer.status >= 400) throw new ApiFailure(answer.status, parse(answer), answer.headers)
    page = (parse(answer) as { data: unknown }).data
  }
}

function withCursor(path: string, cursor: string | number): string {
  const url = new URL(path, 'http://board')
  url.searchParams.set('cursor', String(cursor))
  return url.pathname + url.search
}

function routeOf({ method, path }: Call): Route | undefined {
  const parts = path.split('?')[0]!.split('/')
  const matchesPath = (route: Route) => {
    const wanted = route.path.split('/')
    return (
      route.method === method &&
      wanted.length === parts.length &&
      wanted.every((part, index) => part.startsWith('{') || part === parts[index])
    )
  }
  return Object.values(contract)
    .flatMap(rows => Object.values(rows) as Route[])
    .find(matchesPath)
}

function parse({ bytes, headers }: Answer): unknown {
  if (!/\bjson\b/.test(String(headers['content-type']))) return undefined
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

function printHead({ out }: Context, { status, headers }: Answer): void {
  out.line(`HTTP ${status}`)
  for (const [name, value] of Object.entries(headers)) out.line(`${name}: ${String(value)}`)
  write('\n')
}

/** Writes the body verbatim. At a terminal, removes control sequences. */
function printBody({ out }: Context, { bytes }: Answer): void {
  write(out.terminal.stdout ? escapeControls(bytes.toString(), true).replace(/\n?$/, '\n') : bytes)
}
