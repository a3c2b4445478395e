import type { ApiFailure, Unreachable } from '../../src/client/failures.ts'
import { errors, type ErrorCode } from '../../src/contract/errors.ts'
import { exitOf, exits, type Exit, type Failure } from './failure.ts'
import { writeStderr } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'

export interface Description {
  exit: Exit
  message: string
  hint?: string
  see?: string
}

/** Describes anything thrown in up to three short lines. */
export function describeError(error: unknown): Description {
  const exit = exitOf(error)
  if (!(error instanceof Error)) return { exit, message: String(error) }
  if (error.name === 'Failure')
    return { exit, message: error.message, hint: (error as Failure).hint, see: (error as Failure).see }
  if (error.name === 'ApiFailure') return { exit, ...describeApi(error as ApiFailure) }
  if (error.name === 'Unreachable')
    return {
      exit,
      message: shortSentence(error.message),
      hint: (error as Unreachable).hint,
      see: 'board auth status',
    }
  if (error.name === 'Problem') return { exit, message: shortSentence(error.message) }
  const code = (error as NodeJS.ErrnoException).code
  return { exit, message: error.message || String(code ?? error.name) }
}

/** Prints the three lines on stderr and sets the exit code. `--debug` also prints the stack. */
export function report(error: unknown, debug: boolean): void {
  const { exit, message, hint, see } = describeError(error)
  process.exitCode = exits[exit]
  const lines = [
    `board: ${escapeControls(message)}`,
    ...(hint ? [escapeControls(hint)] : []),
    ...(see ? [see.includes(':') ? escapeControls(see) : `see: ${escapeControls(see)}`] : []),
  ]
  writeStderr(`${lines.join('\n')}\n`)
  if (debug && error instanceof Error && error.stack) writeStderr(`${escapeControls(error.stack, true)}\n`)
}

function describeApi(error: ApiFailure): Omit<Description, 'exit'> {
  const message = shortSentence(error.message).replace('POST /api/auth/setup', 'board auth setup')
  if (error.code === 'VALIDATION_FAILED')
    return {
      message:
        error.details.length > 0
          ? error.details.map(detail => `${flagOf(detail.path)} ${detail.message}`).join('; ')
          : message,
      ...adviceOn(error),
    }
  if (error.code === 'INVALID_CREDENTIALS') return { message }
  if (error.status === 401) return { message, hint: 'sign in with: board auth login', see: 'board auth status' }
  if (error.code === 'CARD_BLOCKED') return { message, hint: 'to start it anyway: --force', see: 'board cards ready' }
  if (error.code === 'COLUMN_FULL') return { message, hint: 'to add it anyway: --force', see: 'board columns list' }
  if (error.code === 'GATE_NOT_PASSED') return { message, see: 'board cards proofs <card>' }
  if (error.code === 'PULL_REQUEST_NOT_READY')
    return {
      message,
      hint: 'to merge it once it is ready: --auto; to merge it anyway: --force',
      see: 'board cards pr view <card>',
    }
  if (error.code === 'CARD_BLOCKS_OTHERS') return { message, hint: 'to delete it anyway: --force' }
  // A message that differs from the default of its code states the missing item.
  const missing = error.message === errors[error.code as ErrorCode]?.[1] ? missingIn(error) : undefined
  if (whereToLook[error.code])
    return { message: missing === undefined ? message : `${message}: ${missing}`, see: whereToLook[error.code] }
  if (error.status === 403) return { message, see: 'board whoami' }
  if (error.status === 429 && error.retryAfterSecs) return { message, hint: `try again in ${error.retryAfterSecs} s` }
  if (error.status === 503)
    return { message, hint: (error.retryAfterSecs ?? 1) > 1 ? `try again in ${error.retryAfterSecs} s` : 'try again' }
  if (error.status >= 500)
    return {
      message,
      hint: error.requestId && !error.message.includes(error.requestId) ? `request id: ${error.requestId}` : undefined,
    }
  return { message }
}

/** Returns the name of the missing item, from the path or field that selects an item of its kind. */
function missingIn({ code, asked }: ApiFailure): string | undefined {
  const [, kind] = /^(?:(.*)_)?NOT_FOUND$/.exec(code) ?? []
  // The pull request of a card has no name.
  if (!asked || !code.endsWith('NOT_FOUND') || code === 'PULL_REQUEST_NOT_FOUND') return undefined
  if (kind === undefined) return asked.path
  const name = kind.toLowerCase().replaceAll('_', '-')
  const [, inPath] = new RegExp(`[/-]${name}s?/([^/?]+)`).exec(asked.path) ?? []
  const given = inPath ?? (asked.input as Record<string, unknown> | undefined)?.[`${name}Id`]
  return typeof given === 'string' ? decodeURIComponent(given) : undefined
}

/** Returns the option for an API field. */
const flagOf = (path: string): string => {
  const [, at] = /^comments\.(\d+)\b/.exec(path) ?? []
  return at === undefined ? (flags[path.replace(/\.\d+$/, '')] ?? path) : `comment ${Number(at) + 1}`
}
const flags: Record<string, string> = {
  projectId: '--project (-P)',
  organizationId: '--org',
  columnId: '--column',
  targetColumnId: '--to',
  boardId: '--board',
  wipLimit: '--limit',
  limit: '--limit',
  intervalSecs: '--every',
  allowUnsandboxed: '--allow-unsandboxed',
  expiresInDays: '--expires',
  graceSecs: '--grace',
  'approvalPolicy.allow': '--approve-allow',
  'approvalPolicy.refuse': '--approve-refuse',
}

/** Returns a hint for a rejected field whose message does not include one. */
function adviceOn({ details, asked }: ApiFailure): Pick<Description, 'hint' | 'see'> {
  const paths = details.map(({ path }) => path)
  const policy = paths.find(path => path.startsWith('approvalPolicy.') && flagOf(path) !== path)
  if (policy !== undefined)
    return {
      hint: `specify the first words of one command, without quotes or shell operators: ${flagOf(policy)} "npm test"`,
    }
  const [, card] = /\/cards\/([^/]+)\/reviews\b/.exec(asked?.path ?? '') ?? []
  return card !== undefined && paths.some(path => /^comments\.\d+$/.test(path))
    ? { see: `board cards diff ${card}` }
    : {}
}

/** The command that shows the cause of a rejection. */
export const whereToLook: Record<string, string> = {
  REGISTRATION_DISABLED: 'board auth --help',
  SETUP_CODE_REQUIRED: 'board auth setup --help',
  PROJECT_NOT_FOUND: 'board projects list',
  BOARD_NOT_FOUND: 'board boards list',
  COLUMN_NOT_FOUND: 'board columns list',
  CARD_NOT_FOUND: 'board cards list',
  TEMPLATE_NOT_FOUND: 'board templates list',
  KEY_NOT_FOUND: 'board keys list',
  BUDGET_NOT_FOUND: 'board budgets list',
  BUDGET_EXHAUSTED: 'board budgets list',
  ORGANIZATION_NOT_FOUND: 'board orgs list',
  CREDENTIAL_NOT_FOUND: 'board credentials list',
  USER_NOT_FOUND: 'board users list',
  MONITOR_NOT_FOUND: 'board monitors list',
  MONITOR_LIMIT_REACHED: 'board monitors list',
  SCRIPT_NOT_FOUND: 'board scripts list',
  SCRIPT_ALREADY_RUNNING: 'board scripts status',
  SCRIPT_NOT_RUNNING: 'board scripts status',
  WEBHOOK_NOT_FOUND: 'board webhooks list',
  DELIVERY_NOT_FOUND: 'board webhooks deliveries <webhook>',
  ATTACHMENT_NOT_FOUND: 'board cards attachments <card>',
  PULL_REQUEST_NOT_FOUND: 'board cards pr create <card>',
  PULL_REQUEST_EXISTS: 'board cards pr view <card>',
  COMMENT_NOT_FOUND: 'board cards comment <card>',
  REVIEW_NOT_FOUND: 'board cards review <card>',
  PRE_SESSION_NOT_FOUND: 'board presession list',
  SESSION_NOT_FOUND: 'board agents sessions <card>',
  MEMBER_NOT_FOUND: 'board projects member list',
  FILE_NOT_FOUND: 'board fs ls',
  NOT_FOUND: 'board browse api',
  BACKUP_NOT_FOUND: 'board backups list',
  BACKUP_EXISTS: 'board backups list',
  AGENT_UNAVAILABLE: 'board agents providers',
  AGENT_NOT_RUNNING: 'board agents list',
  NOTHING_TO_APPROVE: 'board agents list',
}

/**
 * A sentence of the API as a short line: no capital letters except in names (Git, GitHub), no period, and commands
 * instead of routes.
 */
export const shortSentence = (text: string): string =>
  text
    .replace(/^(?!Git)[A-Z](?=[a-z ])/, first => first.toLowerCase())
    .replace(/\.$/, '')
    .replaceAll('POST /api/auth/setup', 'board auth setup')
