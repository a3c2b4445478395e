import type { LiveMessage } from '../../../src/client/socket.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'

type Message = Output<Contract['agents']['messages']>[number]

/** The current activity of each agent by session. */
export const sessionActivities = new Store<ReadonlyMap<string, string>>(new Map())
/** The session of each running card. Messages contain only the session. */
export const sessions = new Store<ReadonlyMap<string, string>>(new Map())

const maxLength = 140

/** Returns the activity of an agent in one line, from its message. */
function activityOf({ role, content, tool }: Pick<Message, 'role' | 'content' | 'tool'>): string | undefined {
  if (tool) return lineOf(tool.name || tool.kind)
  if (role === 'thought') return `thinks: ${lineOf(content)}`
  if (role === 'plan') return 'plans'
  return role === 'agent' ? `says: ${lineOf(content)}` : undefined
}

const lineOf = (text: string): string => {
  const line = text.trim().split('\n').at(-1) ?? ''
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line
}

/** Applies events about the work of agents. */
export function applyActivityEvents(events: readonly LiveMessage[]): void {
  const next = new Map(sessionActivities.get())
  let hasChanged = false
  for (const { type, data } of events) {
    if (type !== 'agent.message' && type !== 'agent.tool' && type !== 'agent.plan') continue
    const activity = activityOf(data as Message)
    if (activity === undefined) continue
    next.set((data as Message).sessionId, activity)
    hasChanged = true
  }
  if (hasChanged) sessionActivities.set(next)
}

/** Reads the last activity of a card's agent, if no event has reported it. */
export async function readSessionActivity(projectId: string, cardId: string): Promise<void> {
  const { sessionId } = await client.agents.get({ projectId, cardId })
  if (sessionId === null) return
  sessions.update(all => new Map(all).set(cardId, sessionId))
  if (sessionActivities.get().has(sessionId)) return
  const [last] = await client.agents.messages({ projectId, cardId, limit: 1 })
  const activity = last && last.sessionId === sessionId ? activityOf(last) : undefined
  if (activity !== undefined) sessionActivities.update(all => new Map(all).set(sessionId, activity))
}

/** Discards the activities, because those from before an absence are outdated. */
export const clearSessionActivities = (): void => sessionActivities.set(new Map())
