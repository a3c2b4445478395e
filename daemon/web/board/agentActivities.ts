import type { LiveMessage } from '../../../src/client/socket.ts'
import type { EventData } from '../../../src/contract/server/events.ts'
import { isMonitorRequest } from '../../../src/contract/automation/monitors.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'

/** The current activity of a card's agent. */
export interface AgentActivity {
  agent: string | null
  text: string
  /** The start of the session. Null before it starts. */
  startedAt: string | null
}
type Session = Omit<EventData<'agent.status'>, 'cardTitle'>
type Message = Omit<EventData<'agent.message'>, 'cardTitle'>

const atWork: ReadonlySet<string> = new Set(['queued', 'running', 'waiting'])
const maxReads = 40

/** The current activities of a project's agents by card, from events. */
export class AgentActivities {
  readonly state = new Store<ReadonlyMap<string, AgentActivity>>(new Map())
  readonly #projectId: string

  constructor(projectId: string) {
    this.#projectId = projectId
  }

  /** Reads which agents are at work. */
  async read(): Promise<void> {
    const projectId = this.#projectId
    const active = await client.agents.active({ projectId })
    const read = async (cardId: string) => {
      const [session, [last]] = await Promise.all([
        client.agents.get({ projectId, cardId }),
        client.agents.messages({ projectId, cardId, limit: 1 }),
      ])
      return { session, last: last && { ...last, cardId } }
    }
    const begun = await Promise.all(active.slice(0, maxReads).map(({ cardId }) => read(cardId).catch(() => undefined)))
    this.#change(map => {
      for (const { cardId, agent, startedAt } of active)
        if (!map.has(cardId)) map.set(cardId, { agent, startedAt, text: '' })
      for (const { session, last } of begun.filter(each => each !== undefined)) {
        this.#onSession(map, session)
        if (last?.sessionId === session.sessionId && map.get(session.cardId)?.text === '') this.#onMessage(map, last)
      }
    })
  }

  /** Applies the events of a frame. */
  applyEvents(events: readonly LiveMessage[]): void {
    if (!events.some(({ type }) => type.startsWith('agent.'))) return
    this.#change(map => {
      for (const { type, data } of events) {
        if (type === 'agent.status' || type === 'agent.usage') this.#onSession(map, data as Session)
        else if (type === 'agent.message' || type === 'agent.tool') this.#onMessage(map, data as Message)
        else if (type === 'agent.permission') {
          const { cardId, title, requestId } = data as EventData<'agent.permission'>
          // The agent does not wait for an answer about a monitor.
          if (!isMonitorRequest(requestId))
            map.set(cardId, { agent: null, startedAt: null, ...map.get(cardId), text: `asks: ${title}` })
        }
      }
    })
  }

  #change(change: (map: Map<string, AgentActivity>) => void): void {
    const map = new Map(this.state.get())
    change(map)
    this.state.set(map)
  }

  #onSession(map: Map<string, AgentActivity>, session: Session): void {
    const { cardId, agent, startedAt, status, waitingFor, retrying } = session
    if (!atWork.has(status)) return void map.delete(cardId)
    const known = map.get(cardId)
    const text = waitingFor
      ? `asks: ${waitingFor}`
      : (retrying ?? (known?.text.startsWith('asks: ') ? '' : known?.text))
    if (known?.agent !== agent || known.startedAt !== startedAt || known.text !== text)
      map.set(cardId, { agent, startedAt, text: text ?? '' })
  }

  #onMessage(map: Map<string, AgentActivity>, message: Message): void {
    const { cardId } = message
    const known = map.get(cardId)
    if (!known || known.text.startsWith('asks: ')) return
    const text = textOf(message)
    if (text !== undefined && text !== known.text) map.set(cardId, { ...known, text })
  }
}

/** Returns the activity in a message: the running tool, or the end of the text. */
function textOf({ role, content, tool }: Message): string | undefined {
  if (tool) {
    const file = tool.locations[0]?.path.split('/').at(-1)
    if (tool.status === 'completed') return undefined
    return file === undefined || tool.name.includes(file) ? tool.name : `${tool.name} ${file}`
  }
  if (role === 'thought') return 'thinks…'
  if (role !== 'agent') return undefined
  return content.slice(-160).trimEnd().split('\n').at(-1)?.trim()
}
