import { Problem, type ErrorCode } from '../../contract/errors.ts'
import { monitorLimits as limits } from '../../contract/automation/monitors.ts'

/** The fields of a monitor. Without `cwd` it runs in the card's folder. */
export interface MonitorFields {
  command: string
  intervalSecs: number
  description: string | null
  cwd: string | null
}

const known = ['command', 'intervalSecs', 'description', 'cwd', 'allowUnsandboxed']

/**
 * Validates a new monitor's fields. Checks only that `cwd` is text, because `requireCardFolder` checks the folder later. Call
 * `requireKnown` afterwards.
 * @throws Problem in this order: MONITOR_UNSANDBOXED_ACK_REQUIRED, MONITOR_COMMAND_INVALID, MONITOR_INTERVAL_INVALID,
 *   MONITOR_DESCRIPTION_INVALID, MONITOR_CWD_INVALID
 */
export function requireFields({
  allowUnsandboxed,
  command,
  intervalSecs,
  description = null,
  cwd = null,
}: Record<string, unknown>): MonitorFields {
  if (allowUnsandboxed !== true) refuse('MONITOR_UNSANDBOXED_ACK_REQUIRED', 'allowUnsandboxed')
  if (!isText(command) || command.trim() === '' || command.length > limits.maxCommandLength)
    return refuse('MONITOR_COMMAND_INVALID', 'command')
  if (
    !Number.isInteger(intervalSecs) ||
    Number(intervalSecs) < limits.minIntervalSecs ||
    Number(intervalSecs) > limits.maxIntervalSecs
  )
    refuse('MONITOR_INTERVAL_INVALID', 'intervalSecs')
  if (description !== null && (!isText(description) || description.length > limits.maxDescriptionLength))
    return refuse('MONITOR_DESCRIPTION_INVALID', 'description')
  if (cwd !== null && !isText(cwd)) return refuse('MONITOR_CWD_INVALID', 'cwd')
  return { command, intervalSecs: Number(intervalSecs), description, cwd }
}

/** @throws Problem VALIDATION_FAILED for a field that a monitor does not have */
export function requireKnown(fields: Record<string, unknown>): void {
  const unknown = Object.keys(fields)
    .filter(name => !known.includes(name))
    .map(name => ({ path: name.slice(0, 200), message: 'is not a known field' }))
  if (unknown.length > 0)
    throw new Problem(
      'VALIDATION_FAILED',
      unknown
        .map(({ path, message }) => `${path} ${message}`)
        .join('; ')
        .slice(0, 2000),
      { details: unknown.slice(0, 20) },
    )
}

/** The store cuts text at NUL, and lone surrogates have no UTF-8 encoding. */
const isText = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

function refuse(code: ErrorCode, path: string): never {
  throw invalidField(code, path)
}

/** The error for an invalid field. */
export function invalidField(code: ErrorCode, path: string): Problem {
  const { message } = new Problem(code)
  return new Problem(code, message, { details: [{ path, message }] })
}
