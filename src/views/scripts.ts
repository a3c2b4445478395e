import type { InferOutput } from 'valibot'
import { Script, type ScriptStatus } from '../contract/automation/scripts.ts'
import { scriptFields, type ScriptRow, type ScriptRunRow } from '../store/automation/scripts.ts'
import { viewOf } from './view.ts'

/** Events are stored for days and sent to many clients, so they contain only the end of an output. The rest can be read. */
const maxInEvents = 4096

export const script: (row: ScriptRow) => InferOutput<typeof Script> = viewOf(scriptFields, Script, 'text')

/** The latest run of a script. With `since`, the output starts at that character if it is still stored. */
export function scriptStatus(row: ScriptRunRow, since = 0): InferOutput<typeof ScriptStatus> {
  const { scriptId, status, pid, exitCode, error, startedAt, finishedAt, output, outputStart } = row
  const skipped = Math.min(Math.max(since - outputStart, 0), output.length)
  return {
    scriptId: String(scriptId),
    status,
    pid,
    exitCode,
    error,
    startedAt,
    finishedAt,
    ...from(skipped, output, outputStart),
  }
}

/** The latest run of a script for an event. */
export const scriptEvent = (row: ScriptRunRow): InferOutput<typeof ScriptStatus> =>
  scriptStatus(row, row.outputStart + Math.max(0, row.output.length - maxInEvents))

/** The output must not start with half of a surrogate pair. */
function from(start: number, output: string, outputStart: number): { output: string; outputStart: number } {
  const whole = isLowSurrogate(output.charCodeAt(start)) ? start - 1 : start
  return { output: output.slice(whole), outputStart: outputStart + whole }
}

const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff
