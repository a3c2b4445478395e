import type { InferOutput } from 'valibot'
import { visibleText } from '../contract/visibleText.ts'
import { Monitor, monitorLimits, monitorRequestId } from '../contract/automation/monitors.ts'
import { monitorFields, type MonitorRow } from '../store/automation/monitors.ts'
import type { AskedQuestion } from './agents.ts'
import { viewOf } from './view.ts'

export const monitor: (row: MonitorRow) => InferOutput<typeof Monitor> = viewOf(
  monitorFields,
  Monitor,
  'text',
  ({ id, permission }: MonitorRow) => ({
    allowUnsandboxed: true,
    requestId: permission === 'asked' ? monitorRequestId(id) : null,
  }),
)

/** The question whether a monitor can run, with its whole command. */
export const monitorRequest = ({ id, intervalSecs, description, command, cwd }: MonitorRow): AskedQuestion => ({
  id: monitorRequestId(id),
  title: `Run a command outside the sandbox every ${intervalSecs} s${description ? `: ${oneLine(description)}` : ''}`,
  kind: 'execute',
  command: visibleText(command, monitorLimits.maxCommandLength),
  paths: [visibleText(cwd, 4096)],
  plan: null,
  options: [
    { id: 'allow', name: 'Allow', kind: 'allow_once' },
    { id: 'reject', name: 'Reject', kind: 'reject_once' },
  ],
})

const oneLine = (text: string): string =>
  visibleText(text, monitorLimits.maxDescriptionLength).replaceAll(/\s+/g, ' ').trim()
