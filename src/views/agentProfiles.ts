import type { InferOutput } from 'valibot'
import { AgentProfile } from '../contract/agents/agentProfiles.ts'
import { profileFields, type ProfileRow } from '../store/agents/agentProfiles.ts'
import { viewOf } from './view.ts'

const shown: (row: ProfileRow) => InferOutput<typeof AgentProfile> = viewOf(
  profileFields,
  AgentProfile,
  'text',
  ({ envNames }: ProfileRow) => ({ environment: JSON.parse(envNames) as string[] }),
)

/** A profile without the values of its environment. Its command line is for administrators. */
export const agentProfile = (row: ProfileRow, forAdmin: boolean): InferOutput<typeof AgentProfile> =>
  forAdmin ? shown(row) : { ...shown(row), command: null, args: null }
