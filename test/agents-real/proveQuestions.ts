import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import type { AgentUnderTest } from './agentUnderTest.ts'

/** The agent asks users in the middle of its turn, does only what they allow, and receives their messages. */
export function proveQuestions({ real: started, id, cell, traits }: AgentUnderTest): void {
  const { askingEnvironment, firstAsked = 'date' } = traits

  test("asks users about commands and not about the board's harmless tools, and receives a message in that time", async () => {
    const real = started()
    const { client } = real.board
    const { run, runAsked = run, board } = real.agent.calls
    if (askingEnvironment)
      await client.agentProfiles.create({ name: 'asks', agent: id, environment: askingEnvironment })
    const { id: cardId } = await real.create('Ask', { ...(askingEnvironment && { profile: 'asks' }) })
    const ref = { projectId: real.projectId, cardId }
    const touched = join(real.dataDir, 'asked')
    // A command with the name of a tool of the board.
    const command = `mcp.board.report_progress; touch ${touched}`
    const nextQuestion = () =>
      eventually(
        'a question',
        async () => {
          const now = await client.agents.get(ref)
          if (!['queued', 'running', 'waiting'].includes(now.status)) throw new Error(JSON.stringify(now))
          return now.questions[0]
        },
        240_000,
      )
    const before = real.model.asked.length
    real.model.play(
      { calls: [board('report_progress', { detail: 'I look.' })] },
      { calls: [board('add_monitor', { command: 'date', intervalSecs: 60, allowUnsandboxed: true })] },
      { calls: [runAsked(command)] },
      { text: 'Done.' },
    )
    await real.start(cardId)
    const first = await nextQuestion()
    expect(first).toMatchObject({ command: firstAsked })
    const word = 'pineapple'
    await client.agents.send({ ...ref, content: `By the way: ${word}.` })
    await client.agents.approvePlan({ ...ref, approved: true })
    const second = await eventually(
      'another question',
      async () => {
        const question = await nextQuestion()
        return question.requestId === first.requestId ? undefined : question
      },
      240_000,
    )
    expect(second).toMatchObject({ command })
    expect(await client.monitors.listProject(ref)).toMatchObject([{ command: 'date' }])
    cell('asks', askingEnvironment ? 'if set' : 'yes')
    await client.agents.approvePlan({ ...ref, approved: false })
    await eventually('the end', async () => !(await real.card(cardId)).hasActiveAgent, 240_000)
    expect(existsSync(touched)).toBe(false)
    cell('refuses', 'yes')
    const asked = real.model.asked.slice(before)
    cell('steer', asked.some(({ body }) => JSON.stringify(body).includes(word)) ? 'yes' : 'no')
    await real.untilNoneRuns()
  })

  test.runIf(askingEnvironment)('does not ask with its default settings', async () => {
    const real = started()
    const { card, questions } = await real.run('Unasked', () => [
      { calls: [real.agent.calls.run('date > date.txt')] },
      { text: 'Done.' },
    ])
    expect({ status: card.status, questions }).toEqual({ status: 'completed', questions: [] })
    expect(existsSync(join(real.worktree(card.id), 'date.txt'))).toBe(true)
    await real.untilNoneRuns()
  })

  test("does not ask about an edit in its worktree that the project's policy allows", async () => {
    const real = started()
    const policy = { allow: [], refuse: [] }
    const setDefault = (answer: 'ask' | 'allow_in_worktree') =>
      real.board.client.projects.update({ id: real.projectId, approvalPolicy: { ...policy, default: answer } })
    await setDefault('allow_in_worktree')
    const { card, questions } = await real.run('Edit', folder => [
      { calls: [real.agent.calls.write(join(folder, 'hello.txt'), 'hello\n')] },
      { text: 'Done.' },
    ])
    await setDefault('ask')
    expect({ status: card.status, questions }).toEqual({ status: 'completed', questions: [] })
    expect(existsSync(join(real.worktree(card.id), 'hello.txt'))).toBe(true)
    await real.untilNoneRuns()
  })

  test.runIf(id === 'claude')('asks whether its plan is good', async () => {
    const real = started()
    const { id: cardId } = await real.create('Plan', { mode: 'plan' })
    const plan = '# The plan\n\n1. Do it.'
    real.model.play({ calls: [{ name: 'ExitPlanMode', input: { plan } }] }, { text: 'Done.' })
    await real.start(cardId)
    await real.untilStatus(cardId, 'waiting')
    const { questions } = await real.board.client.agents.get({ projectId: real.projectId, cardId })
    expect(questions).toMatchObject([
      {
        kind: 'switch_mode',
        plan,
        options: expect.arrayContaining([expect.objectContaining({ id: 'acceptEdits', kind: 'allow_always' })]),
      },
    ])
    expect((await real.approveAll(cardId)).card.status).toBe('completed')
    await real.untilNoneRuns()
  })
}
