import type { Transaction } from '../../store/database.ts'
import type { SessionRow } from '../../store/sessions.ts'
import { takeWaitingMessage, type WaitingMessage } from '../../store/waitingMessages.ts'
import { readUnanswered, withResumePrompt } from '../transcript/resumePrompt.ts'
import { addMessage, transcriptOf } from '../transcript/transcriptWriter.ts'
import { findOwn, type PromptAttachment, type SessionPrompt } from './promptFiles.ts'

const resumeRequest = 'Go on with your task where you left off.'

/**
 * The first prompt of a run: a fresh session gets its prompt, which names the card's attachments, what there is to know `about` its
 * place, and the waiting messages; a resumed one the messages only, or to go on. A slash command must be a prompt of its own, so it waits for the next
 * turn if something precedes it.
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

/** A message is taken out before its agent has it: what a killed server took out is said once more. */
async function resumeText(tx: Transaction, session: SessionRow): Promise<string> {
  const unanswered = await readUnanswered(tx, session)
  return unanswered === ''
    ? resumeRequest
    : `${resumeRequest} In case you have not had it, this is what you were told last:\n\n${unanswered}`
}

/** Takes out the messages that go to the agent in one turn. */
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
/** What was given with messages, each once. */
export const givenOf = (messages: readonly WaitingMessage[]): PromptAttachment[] =>
  [...new Map(messages.flatMap(({ attachments }) => attachments).map(each => [each.id, each])).values()].map(each => ({
    ...each,
    isLink: false,
  }))
