import * as v from 'valibot'
import { Problem } from '../../src/contract/errors.ts'
import { text } from '../../src/contract/fields.ts'
import { defineTool, json } from './tool.ts'

/** Clients wait a minute for a tool. */
const maxWaitMs = 50_000
const notAnswered =
  'The question is still open. If you cannot continue without the answer, end your turn now: the answer comes as your next message. To wait longer, ask the same question again.'

/** Asks people. An open question with the same text is not asked again. */
export const askPerson = defineTool({
  name: 'ask_person',
  card: 'own',
  at: 'machine',
  description:
    'Ask people a question that you cannot answer yourself, and wait for the answer. options: the possible answers, if there are few; people can always answer in their own words. If the answer is null, decide yourself. If there is no answer in time, the question stays open. Do other work, or end your turn. The answer then comes as your next message.',
  entries: {
    question: v.pipe(
      text(1, 4000),
      v.description('The complete question, with the information that a person needs to answer it.'),
    ),
    options: v.optional(
      v.pipe(
        v.array(text(1, 200)),
        v.maxLength(10, 'must have at most 10 options'),
        v.check(options => new Set(options).size === options.length, 'must contain each option once'),
      ),
      [],
    ),
  },
  run: async (app, _, { question, options }, { agent }, signal) => {
    const run = agent?.sessionId ? app.supervisor.runOf(agent.sessionId) : undefined
    if (!run) throw new Problem('CONFLICT', 'Only agent sessions can ask people.')
    const answer = await run.questions.ask(question, options, maxWaitMs, signal)
    return json(answer ? { answered: true, ...answer } : { answered: false, next: notAnswered })
  },
})
