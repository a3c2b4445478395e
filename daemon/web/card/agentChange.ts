import type { PlanChange } from './Assignees.tsx'

/** Returns the change to another agent, which has other models, modes and efforts. */
export const agentChange = (agent: string | null): PlanChange => ({ agent, model: null, mode: null, effort: null })
