import { expect, test } from 'vitest'
import { allowsHost, parseNetworkHost } from '../../src/contract/networkHosts.ts'

test.each([
  ['example.org', 'example.org'],
  ['EXAMPLE.org.', 'example.org'],
  ['*.Example.org', '*.example.org'],
  ['example.org:8443', 'example.org:8443'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['registry', 'registry'],
  ['192.0.2.1', '192.0.2.1'],
  ['0x7f.1:80', '127.0.0.1:80'],
  ['2001:DB8:0::1', '[2001:db8::1]'],
  ['[2001:db8::1]:8443', '[2001:db8::1]:8443'],
])('%s is an entry of the list of hosts, kept as %s', (text, kept) => {
  expect(parseNetworkHost(text)?.text).toBe(kept)
  expect(parseNetworkHost(kept)?.text).toBe(kept)
})

test.each(
  '|*|*.org|*.*.org|a.*.org|*example.org|*.192.0.2.1|*.[::1]|http://example.org|example.org/|user@example.org|example.org:0|example.org:65536|example.org:|:80|a b|a..b|-a.org|[::1|exam%70le.org|example.org#|999.1.1.1'.split(
    '|',
  ),
)('%j is none', text => {
  expect(parseNetworkHost(text)).toBeUndefined()
})

test.each([
  ['example.org', 'example.org', 443, true],
  ['example.org', 'www.example.org', 443, false],
  ['example.org', 'example.org', 22, false],
  ['*.example.org', 'a.b.example.org', 80, true],
  ['*.example.org', 'example.org', 80, false],
  ['*.example.org', 'notexample.org', 80, false],
  ['*.example.org:22', 'git.example.org', 22, true],
  ['*.example.org:22', 'git.example.org', 443, false],
  ['[2001:db8::1]', '2001:db8::1', 443, true],
])('%s and %s at %i: %s', (entry, host, port, allows) => {
  expect(allowsHost(parseNetworkHost(entry)!, host, port)).toBe(allows)
})
