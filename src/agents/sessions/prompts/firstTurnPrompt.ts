import type { Transaction } from '../../../store/engine/database.ts'
import type { SessionRow } from '../../../store/agents/sessions.ts'
import { takeWaitingMessage, type WaitingMessage } from '../../../store/agents/waitingMessages.ts'
import { readUnanswered, withResumePrompt } from '../../transcript/resumePrompt.ts'
import { addMessage, transcriptOf } from '../../transcript/transcriptWriter.ts'
import { findOwn, type PromptAttachment, type SessionPrompt } from './promptFiles.ts'

const resumeRequest = 'Continue your task where you left off.'

/**
 * The first prompt of a run. A fresh session gets its prompt, which names the card's attachments, the notes `about` its place,
 * and the waiting messages. A resumed session gets only the messages, or a request to continue. A slash command must be its own
 * prompt, so it waits for the next turn if other text precedes it.
 */
export async function firstTurnPrompt(
  tx: Transaction,
  session: SessionRow,
  { resumed, isFirst, about }: { resumed: boolean; isFirst: boolean; about: string },
): Promise<{ prompt: SessionPrompt; taken: readonly WaitingMessage[] }> {
  if (session.purpose === 'terminal') return { prompt: { text: session.prompt, attachments: [] }, taken: [] }
  if (resumed) {
    const taken = await takeWaitingMessages(tx, session.id)
    const text = taken.length > 0 ? taken.map(({ content }) => content).join('\n\n') : await resumeText(tx, session)
    return { prompt: { text, attachments: givenOf(taken) }, taken }
  }
  const own = await findOwn(tx, session.cardId)
  if (isFirst) await addMessage(tx, transcriptOf(session), 'user', session.prompt, own)
  const prompt = isFirst ? session.prompt : await withResumePrompt(tx, session.prompt, session)
  const taken = isCommand(prompt) ? [] : await takeWaitingMessages(tx, session.id, false)
  const given = givenOf(taken)
  const links = own.filter(({ id }) => !given.some(each => each.id === id)).map(each => ({ ...each, isLink: true }))
  const text = [
    prompt,
    ...(about === '' || isCommand(prompt) ? [] : [about]),
    ...taken.map(({ content }) => content),
  ].join('\n\n')
  return { prompt: { text, attachments: [...links, ...given] }, taken }
}

/** A message is removed from the queue before its agent receives it, so a message that a killed server removed is sent again. */
async function resumeText(tx: Transaction, session: SessionRow): Promise<string> {
  const unanswered = await readUnanswered(tx, session)
  return unanswered === ''
    ? resumeRequest
    : `${resumeRequest} In case you did not receive it, this is the last message to you:\n\n${unanswered}`
}

/** Removes from the queue the messages that go to the agent in one turn. */
async function takeWaitingMessages(tx: Transaction, sessionId: number, mayBeCommand = true): Promise<WaitingMessage[]> {
  const taken: WaitingMessage[] = []
  const fits = ({ content }: Pick<WaitingMessage, 'content'>) => {
    const [first] = taken
    return first ? !isCommand(first.content) && !isCommand(content) : mayBeCommand || !isCommand(content)
  }
  for (
    let each = await takeWaitingMessage(tx, sessionId, fits);
    each;
    each = await takeWaitingMessage(tx, sessionId, fits)
  )
    taken.push(each)
  return taken
}

const isCommand = (text: string): boolean => text.startsWith('/')
/** The attachments of the messages, without duplicates. */
export const givenOf = (messages: readonly WaitingMessage[]): PromptAttachment[] =>
  [...new Map(messages.flatMap(({ attachments }) => attachments).map(each => [each.id, each])).values()].map(each => ({
    ...each,
    isLink: false,
  }))
