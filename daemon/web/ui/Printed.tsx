import { useLayoutEffect, useRef } from 'react'
import { plainText } from './plainText.ts'

/** The output of a program. Follows the end while the person is at the end. */
export function Printed({ label, output, isCut }: { label: string; output: string; isCut: boolean }) {
  const box = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    const { current } = box
    if (current && isAtEnd.current) current.scrollTop = current.scrollHeight
  }, [output])
  if (output === '') return null
  return (
    <pre
      ref={box}
      className="printed"
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 4
      }}
    >
      {isCut && '…\n'}
      {plainText(output)}
    </pre>
  )
}
