import { describe, expect, test } from 'vitest'
import { decideByPolicy, type AskedAction } from '../../src/domain/agents/approvalPolicy.ts'

const policy = {
  default: 'ask' as const,
  allow: ['git', 'npm test', 'ls'],
  refuse: ['git push', 'rm -rf'],
}
const command = (text: string): AskedAction => ({ about: 'command', command: text, isInsideFolder: false })
const file = (about: 'edit' | 'read', isInsideFolder: boolean): AskedAction => ({
  about,
  command: null,
  isInsideFolder,
})

describe('a command', () => {
  test.each([
    ['git status', 'allow'],
    ['git', 'allow'],
    ['  git   status\t--short', 'allow'],
    ["git commit -m 'one (two) {three} # four'", 'allow'],
    ['git commit -m "it is done!"', 'allow'],
    ['git add *.ts', 'allow'],
    ['npm test -- --watch', 'allow'],
    ['npm install', 'ask'],
    ['npm', 'ask'],
    ['github', 'ask'],
    ['./git status', 'ask'],
    ['/tmp/git status', 'ask'],
    ['gi* status', 'ask'],
    ['PATH=/tmp git status', 'ask'],
    ['', 'ask'],
    ['   ', 'ask'],
  ])('%j: %s', (text, verdict) => {
    expect(decideByPolicy(policy, command(text))).toBe(verdict)
  })
  test.each([
    'git status; date',
    'git status && date',
    'git status & date',
    'git status | tee x',
    'git log $(date)',
    'git log `date`',
    'git log $HOME',
    'git log ${x}',
    "git log $'a'",
    'git log > /etc/passwd',
    'git log < x',
    'git log\ndate',
    'git log\rdate',
    'git log \\',
    'git lo\\g',
    "git log 'a;b'",
    'git {log,status}',
    'git log (x)',
    'git log # x',
    "git log 'open",
    'git log "open',
    'git log \u202e x',
    'git log \u0000 x',
    '!git log',
  ])('with more than one command or dynamic words requires a question: %j', text => {
    expect(decideByPolicy(policy, command(text))).toBe('ask')
  })
  test.each([
    'git push',
    'git push origin main',
    "git 'push'",
    'git "push"',
    "g'i't pu''sh",
    'git add . && git push',
    'git add .\ngit push --force',
    'echo $(git push)',
    'true; X=1 git push',
    'git pu\\sh',
    'rm -rf /',
  ])('is checked for refusal before permission: %j', text => {
    expect(decideByPolicy(policy, command(text))).toBe('refuse')
  })
  test.each(['git p*', 'git pus?', 'git [p]ush', 'git ~'])(
    'that a pattern could expand into a refused one requires a question: %j',
    text => {
      expect(decideByPolicy(policy, command(text))).toBe('ask')
    },
  )
  test('that is unknown requires a question', () => {
    expect(decideByPolicy(policy, { about: 'command', command: null, isInsideFolder: true })).toBe('ask')
  })
  test('is not a command if it is the input of another tool', () => {
    expect(decideByPolicy(policy, { about: 'other', command: 'git status', isInsideFolder: true })).toBe('ask')
  })
})

describe('the default', () => {
  test.each([
    ['ask', file('edit', true), 'ask'],
    ['ask', file('read', true), 'ask'],
    ['allow_in_worktree', file('edit', true), 'allow'],
    ['allow_in_worktree', file('read', true), 'allow'],
    ['allow_in_worktree', file('edit', false), 'ask'],
    ['allow_in_worktree', file('read', false), 'ask'],
    ['allow_in_worktree', { ...command('date'), isInsideFolder: true }, 'ask'],
    ['allow_in_worktree', { about: 'other', command: null, isInsideFolder: true }, 'ask'],
    ['refuse', file('edit', true), 'refuse'],
    ['refuse', command('date'), 'refuse'],
    ['refuse', command('git status'), 'allow'],
    ['refuse', { about: 'other', command: null, isInsideFolder: false }, 'refuse'],
    ['refuse', { about: 'plan', command: null, isInsideFolder: true }, 'ask'],
    ['allow_in_worktree', { about: 'plan', command: null, isInsideFolder: true }, 'ask'],
  ] as const)('%s: %j: %s', (by, asked, verdict) => {
    expect(decideByPolicy({ ...policy, default: by }, asked)).toBe(verdict)
  })
})
