import type { InferOutput } from 'valibot'
import { Monitor } from '../contract/monitors.ts'
import { monitorFields, type MonitorRow } from '../store/monitors.ts'
import { viewOf } from './view.ts'

export const monitor: (row: MonitorRow) => InferOutput<typeof Monitor> = viewOf(monitorFields, Monitor, 'text', () => ({
  allowUnsandboxed: true,
}))
