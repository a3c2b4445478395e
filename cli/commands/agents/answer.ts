import type { Command } from 'commander'
import { findQuestion, openQuestions, optionNamed, questionLines } from '../../agents/questions.ts'
import { inItsProject } from '../../cards/cardApi.ts'
import { openContext } from '../../context/context.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { addFileOption, readMessage, type TextOptions } from '../../input/messageText.ts'

interface AnswerOptions extends TextOptions {
  request?: string
  option?: string
  decline?: boolean
}

export function registerAnswer(agents: Command): void {
  const answer = addFileOption(
    agents
      .command('answer <card> [answer]')
      .summary("Answer an agent's question in words")
      .description(
        "Answer a question of a card's agent in your own words, or with one of its options. The agent receives the answer in its turn. If the turn has ended, the session continues with the answer.",
      ),
    'answer',
  )
    .option('--request <id>', 'ID of the question, from board agents view (default: the only open question)')
    .option('--option <option>', 'ID or name of an option of the question')
    .option('--decline', 'leave the decision to the agent')
    .action(async (id: string, words: string | undefined, { request, option, decline, ...texts }: AnswerOptions) => {
      const ways = [words ?? texts.file, option, decline].filter(way => way !== undefined)
      if (ways.length > 1) throw usage('specify one of the answer, --option and --decline')
      if (ways.length === 0)
        throw usage('no answer is specified', {
          hint: 'use an argument, -F FILE, -F - (stdin) or --option, or let the agent decide with --decline',
        })
      const text = option === undefined && !decline ? await readMessage(words, texts) : undefined
      const context = await openContext(answer)
      await inItsProject(context, id, async place => {
        const question = findQuestion(await openQuestions(context, place), place, request)
        if (question && request === undefined) for (const line of questionLines(question)) context.out.done(line)
        await context.client.agents.approvePlan({
          ...place,
          approved: !decline,
          requestId: request ?? question?.requestId,
          ...(option !== undefined && { optionId: question ? optionNamed(question, option).id : option }),
          ...(text !== undefined && { answer: text }),
        })
      })
      context.out.done(decline ? 'Declined.' : 'Answered.')
    })
  prints(answer, null, 'id result error')
  example(
    answer,
    'board agents answer 12 "Use Postgres."',
    'board agents answer 12 --option SQLite',
    'board agents answer 12 --request 5f0c2a9be1d4 -F answer.md',
    'board agents answer 12 --decline',
  )
}
