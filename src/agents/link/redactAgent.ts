import type { AgentLink, AgentListener, PermissionRequest, RawUpdate } from './agentLink.ts'
import { readTerminalOutput, withTerminalOutput } from './terminalOutput.ts'
import { createRedactor, type Redactor } from './redactSecrets.ts'

const textKinds = new Set(['agent_message_chunk', 'agent_thought_chunk', 'user_message_chunk'])

/**
 * Redacts the secrets of an agent's launch from all its output before anything is stored, shown or sent. A secret can be split
 * across chunks: if the end of a chunk might begin a secret, it is held back until the next chunk.
 */
export function redactAgent(secrets: readonly string[], listener: AgentListener): AgentRedaction {
  const redactor = createRedactor(secrets)
  const held = createHeldText(redactor, listener)
  const outputs = createHeldOutputs(redactor)
  const flushAll = async () => {
    await held.flush()
    for (const rest of outputs.take()) await listener.update(redactor.value(rest))
  }
  return {
    listener: {
      update(update) {
        if (isText(update)) return held.add(update)
        const flushed = held.flush()
        const redacted = redactor.value(outputs.join(update))
        return flushed ? flushed.then(() => listener.update(redacted)) : listener.update(redacted)
      },
      permission(request) {
        void held.flush()
        listener.permission(redactRequest(redactor, request))
      },
      permissionWithdrawn: id => listener.permissionWithdrawn(id),
    },
    link: agent => ({
      ...agent,
      info: redactor.value(agent.info),
      start: async resume => redactor.value(await agent.start(resume)),
      prompt: async (text, files) => {
        try {
          return await agent.prompt(text, files)
        } finally {
          await flushAll()
        }
      },
      receiveLate: async (limitMs, signal) => {
        await agent.receiveLate(limitMs, signal)
        await flushAll()
      },
    }),
  }
}

interface AgentRedaction {
  listener: AgentListener
  link(agent: AgentLink): AgentLink
}
type TextUpdate = RawUpdate & { content: { type: 'text'; text: string } }

const isText = (update: RawUpdate): update is TextUpdate =>
  textKinds.has(update.sessionUpdate) && typeof (update as Partial<TextUpdate>).content?.text === 'string'

/** An answer names an option by its ID, so an ID cannot be redacted. An option whose ID contains a secret is not offered. */
function redactRequest(redactor: Redactor, { options, ...request }: PermissionRequest): PermissionRequest {
  return {
    ...redactor.value(request),
    options: options.filter(({ id }) => redactor.text(id) === id).map(option => redactor.value(option)),
  }
}

/** Forwards texts, except for an end that might begin a secret. */
function createHeldText(redactor: Redactor, listener: AgentListener) {
  let held: { update: TextUpdate; text: string } | undefined
  const passText = (update: TextUpdate, text: string) =>
    text === '' ? undefined : listener.update({ ...update, content: { ...update.content, text } })
  const flush = (): Promise<void> | undefined => {
    const { update, text } = held ?? {}
    held = undefined
    return update && text ? Promise.resolve(passText(update, redactor.text(text))) : undefined
  }
  const add = (update: TextUpdate): void | Promise<void> => {
    const all = redactor.text((held?.text ?? '') + update.content.text)
    const begun = redactor.lengthOfBegun(all)
    held = begun > 0 ? { update, text: all.slice(-begun) } : undefined
    return passText(update, begun > 0 ? all.slice(0, -begun) : all)
  }
  return {
    flush,
    add(update: TextUpdate): void | Promise<void> {
      if (!held || held.update.sessionUpdate === update.sessionUpdate) return add(update)
      return flush()?.then(() => add(update)) ?? add(update)
    },
  }
}

const maxHeldOutputs = 500

/** Holds back the end of a command's output that might begin a secret, until the next chunk of output or the end of the call. */
function createHeldOutputs(redactor: Redactor) {
  const held = new Map<string, string>()
  return {
    /** The update, with the held output of its call before it and without the end that is held now. */
    join(update: RawUpdate): RawUpdate {
      const { toolCallId } = update
      const { text, ends } = readTerminalOutput(update)
      if (typeof toolCallId !== 'string') return update
      const before = held.get(toolCallId)
      if (text === undefined && !(ends && before)) return update
      const all = redactor.text((before ?? '') + (text ?? ''))
      const begun = ends || held.size >= maxHeldOutputs ? 0 : redactor.lengthOfBegun(all)
      if (begun > 0) held.set(toolCallId, all.slice(-begun))
      else held.delete(toolCallId)
      return withTerminalOutput(update, begun > 0 ? all.slice(0, -begun) : all)
    },
    /** All held output, as updates of its calls. */
    take(): RawUpdate[] {
      const rest = [...held].map(([toolCallId, text]) =>
        withTerminalOutput({ sessionUpdate: 'tool_call_update', toolCallId }, text),
      )
      held.clear()
      return rest
    },
  }
}
