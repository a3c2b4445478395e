import type { InferOutput } from 'valibot'
import { Activity } from '../contract/cards/activity.ts'
import { activityFields, type ActivityRow } from '../store/cards/activity.ts'
import { viewOf } from './view.ts'

export const activity: (row: ActivityRow) => InferOutput<typeof Activity> = viewOf(
  activityFields,
  Activity,
  'text',
  ({ actorKind, actorId, actorName }: ActivityRow) => ({
    actor: { kind: actorKind, id: actorId ? String(actorId) : null, name: actorName },
  }),
)
