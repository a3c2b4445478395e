import { expect, it } from 'vitest'
import { errorLines } from '../../src/forge/errorLines.ts'

const fine = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `step ${from + index} is fine`)

it('keeps a short log, without colors, control characters and times', () => {
  const log = [
    '\ufeff2026-11-23T12:00:00.1234567Z \u001b[36;1mnpm test\u001b[0m',
    '2026-11-23T12:00:01.1234567Z ##[error]\u001b[31mNo\u0007\u001b]0;title\u0007',
    'section_start:1700000000:build\r\u001b[0Ktests',
    '10%\r50%\r100%',
    '2026-11-23T12:00:02Z 01O hidden\u202e',
    '',
    '',
  ].join('\r\n')
  expect(errorLines(log, 1000)).toBe('npm test\n##[error]No\ntests\n100%\nhidden')
})

it('keeps the lines around errors, and the end', () => {
  const log = [
    ...fine(500),
    'src/a.ts(3,1): error TS2322: Not assignable.',
    ...fine(500, 500),
    '0 errors, 0 failed',
    ...fine(500, 1000),
    'AssertionError: expected 1 to be 2',
    ...fine(500, 1500),
    'Process completed with exit code 1.',
  ]
  const excerpt = errorLines(log.join('\n'), 2000)
  expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(2000)
  expect(excerpt).toMatch(/^\[\.\.\.\]\nstep 497 is fine\n/)
  expect(excerpt).toContain('step 499 is fine\nsrc/a.ts(3,1): error TS2322: Not assignable.\nstep 500 is fine')
  expect(excerpt).toContain('\nAssertionError: expected 1 to be 2\n')
  expect(excerpt).not.toContain('0 errors')
  expect(excerpt).toMatch(/step 1998 is fine\nstep 1999 is fine\nProcess completed with exit code 1\.$/)
})

it('never exceeds its maximum length, for any log', () => {
  const logs = [
    'error\n'.repeat(10_000),
    `${'x'.repeat(100_000)}error`,
    'ä€😀'.repeat(10_000),
    `${'Error: 😀\n'.repeat(50)}${'fine\n'.repeat(5000)}`,
  ]
  for (const log of logs)
    for (const maxBytes of [0, 5, 20, 100, 1000, 4096]) {
      const excerpt = errorLines(log, maxBytes)
      expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(maxBytes)
    }
})

it('processes four megabytes in linear time', () => {
  const log = 'warning: an error may follow here, or not at all, who knows\n'.repeat(70_000)
  expect(errorLines(log, 8000)).toMatch(/^warning/)
})
