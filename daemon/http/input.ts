import * as v from 'valibot'
import { invalid, Problem, type Detail, type ErrorCode } from '../../src/contract/errors.ts'
import { issueText } from './issueText.ts'
import { isExternal, paramsOf, textParams, type Route } from '../../src/contract/route.ts'

/** What an internal route answers when a path names a row that cannot exist. */
const missing: Record<string, ErrorCode> = {
  projectId: 'PROJECT_NOT_FOUND',
  boardId: 'BOARD_NOT_FOUND',
  columnId: 'COLUMN_NOT_FOUND',
  cardId: 'CARD_NOT_FOUND',
  attachmentId: 'ATTACHMENT_NOT_FOUND',
  sessionId: 'PRE_SESSION_NOT_FOUND',
  orgId: 'ORGANIZATION_NOT_FOUND',
  userId: 'MEMBER_NOT_FOUND',
  email: 'INVITATION_NOT_FOUND',
  filename: 'BACKUP_NOT_FOUND',
  monitorId: 'MONITOR_NOT_FOUND',
  scriptId: 'SCRIPT_NOT_FOUND',
  webhookId: 'WEBHOOK_NOT_FOUND',
  deliveryId: 'DELIVERY_NOT_FOUND',
  '/api/projects/{id}': 'PROJECT_NOT_FOUND',
  '/api/cards/{id}': 'CARD_NOT_FOUND',
  '/api/board-templates/{id}': 'TEMPLATE_NOT_FOUND',
  '/api/keys/{id}': 'KEY_NOT_FOUND',
  '/api/organizations/{id}': 'ORGANIZATION_NOT_FOUND',
  '/api/admin/users/{id}': 'USER_NOT_FOUND',
  '/api/credentials/{id}': 'CREDENTIAL_NOT_FOUND',
}

/** Makes the function that takes a path's raw parameters: rows' ids become integers, the rest decoded text. */
export function paramReader(route: Route): (raw: Record<string, string>) => Record<string, string | number> {
  const names = paramsOf(route.path)
  const external = isExternal(route.path)
  const notFound = (name: string) =>
    missing[name] ?? missing[route.path.slice(0, route.path.indexOf('}') + 1)] ?? 'NOT_FOUND'
  return raw => {
    const params: Record<string, string | number> = {}
    for (const name of names) {
      if ((textParams as readonly string[]).includes(name)) params[name] = decode(raw[name]!) ?? refuse(notFound(name))
      else params[name] = parseId(raw[name]!) ?? refuse(external ? 'INVALID_ID' : notFound(name))
    }
    return params
  }
}

/** The id in a path's parameter, before anything is refused; undefined for what is no id. */
export const peekId = (raw: string | undefined): number | undefined => (raw === undefined ? undefined : parseId(raw))

/**
 * Reads a query string; each name may stand once.
 * @throws Problem VALIDATION_FAILED
 */
export function readQuery(url: string): Record<string, string> {
  const at = url.indexOf('?')
  if (at < 0) return {}
  const entries = [...new URLSearchParams(url.slice(at + 1))]
  const query = Object.fromEntries(entries)
  if (Object.keys(query).length !== entries.length)
    throw new Problem('VALIDATION_FAILED', 'A query parameter stands more than once.')
  return query
}

/**
 * Checks a value against a schema and returns what the schema makes of it.
 * @throws Problem VALIDATION_FAILED, naming each field and its rule, and never its value
 */
export function validate(schema: v.GenericSchema, value: unknown): unknown {
  // An object schema takes a list for an object without fields.
  if (Array.isArray(value))
    throw new Problem('VALIDATION_FAILED', 'body must be an object', {
      details: [{ path: '', message: 'must be an object' }],
    })
  requireBounds(value)
  const result = v.safeParse(schema, value, { abortPipeEarly: true })
  if (result.success) return result.output
  const details = result.issues.slice(0, 20).map(toDetail)
  throw new Problem(
    'VALIDATION_FAILED',
    details
      .map(({ path, message }) => `${path || 'body'} ${message}`)
      .join('; ')
      .slice(0, 2000),
    { details },
  )
}

const mostItems = 10_000

/** A schema looks at each item, and makes an issue of each, before it counts them: half a million of nothing would hold up the server for seconds. */
function requireBounds(value: unknown): void {
  if (value === null || typeof value !== 'object') return
  for (const [name, field] of Object.entries(value)) {
    const count = Array.isArray(field)
      ? field.length
      : field !== null && typeof field === 'object'
        ? Object.keys(field).length
        : 0
    if (count > mostItems) throw invalid(name.slice(0, 200), `must have at most ${mostItems} items`)
  }
}

function toDetail(issue: v.BaseIssue<unknown>): Detail {
  const path = (issue.path ?? [])
    .map(item => String(item.key))
    .join('.')
    .slice(0, 200)
  return { path, message: issueText(issue) }
}

function parseId(text: string): number | undefined {
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

/** The store would cut a text with NUL there. */
function decode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text)
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return undefined
  }
}

function refuse(code: ErrorCode): never {
  throw new Problem(code)
}
