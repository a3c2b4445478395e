import type { OutboundAnswer } from '../egress/request.ts'
import { ForgeFailed, type ForgeAddress, type ForgeFailure } from './forge.ts'
import { cleanLine } from './forgeFields.ts'

const names = { github: 'GitHub', gitlab: 'GitLab', gitea: 'Gitea' } as const
const reasons: Readonly<Record<number, ForgeFailure>> = {
  400: 'invalid',
  401: 'refused',
  403: 'refused',
  404: 'missing',
  405: 'conflict',
  406: 'conflict',
  409: 'conflict',
  410: 'missing',
  412: 'conflict',
  413: 'invalid',
  422: 'invalid',
  423: 'conflict',
}
const maxMessageLength = 300
/** The default wait of at least a minute from GitHub's documentation. */
const usualWaitMs = 60_000
const maxWaitMs = 24 * 60 * 60_000

/** How requests reach a forge's API. */
export interface ForgeAccess {
  kind: ForgeAddress['kind']
  apiUrl: string
  /** The headers of each request, which contain the token. */
  headers: Readonly<Record<string, string>>
  /** The token, which is redacted from messages. */
  token: string
}

/** The failure that a response means, if any. */
export function failureOf(access: ForgeAccess, answer: OutboundAnswer, now: number): ForgeFailed | undefined {
  const { status } = answer
  if (status >= 200 && status < 400) return undefined
  const name = names[access.kind]
  const message = messageOf(answer.text).replaceAll(access.token || '\0', '***')
  const retryAt = limitedUntil(answer, message, now)
  if (retryAt !== undefined)
    return new ForgeFailed('limited', `${name} accepts no more requests before ${new Date(retryAt).toISOString()}.`, {
      retryAt,
    })
  const reason = reasons[status] ?? (status >= 500 ? 'unreachable' : 'odd')
  const words = cleanLine(message, maxMessageLength)
  return new ForgeFailed(reason, `${name} answered with status ${status}${words === '' ? '' : `: ${words}`}`)
}

/** When the forge can be queried again, if it reports too many requests. */
function limitedUntil({ status, headers }: OutboundAnswer, message: string, now: number): number | undefined {
  if (status !== 429 && status !== 403) return undefined
  const isUsedUp = (headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining']) === '0'
  const after = headers['retry-after']
  const isSecondary = /secondary rate limit|abuse detection/i.test(message)
  if (status === 403 && after === undefined && !isUsedUp && !isSecondary) return undefined
  const reset = Number(isUsedUp ? (headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']) : Number.NaN) * 1000
  const at = after === undefined ? reset : /^\d+$/.test(after) ? now + Number(after) * 1000 : Date.parse(after)
  return Math.min(Math.max(Number.isNaN(at) ? now + usualWaitMs : at, now + 1000), now + maxWaitMs)
}

/** The forge's message about its failure. */
function messageOf(text: string): string {
  try {
    const json = JSON.parse(text) as unknown
    return isRecord(json) ? wordsOf([json.message, json.error, json.error_description, json.errors]) : ''
  } catch {
    return ''
  }
}

/** Returns the texts of errors and their fields in a value. */
function wordsOf(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value
  if (depth > 3) return ''
  if (Array.isArray(value)) return joinWords(value.slice(0, 10).map(each => wordsOf(each, depth + 1)))
  if (!isRecord(value)) return ''
  if (typeof value.message === 'string') return value.message
  return joinWords(
    Object.entries(value)
      .slice(0, 10)
      .map(([name, each]) => `${name}: ${wordsOf(each, depth + 1)}`),
  )
}

const joinWords = (words: readonly string[]): string => words.filter(Boolean).join('; ')

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Converts a conflict to `invalid`: there already is a pull request, so a retry does not help.
 * @throws the converted error, or the original one
 */
export function asInvalid(error: unknown): never {
  if (error instanceof ForgeFailed && error.reason === 'conflict')
    throw new ForgeFailed('invalid', error.message, { cause: error })
  throw error
}
