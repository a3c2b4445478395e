/** Two levels of order for large columns: chunks count within spans of up to 32 chunks, and spans within the column. */
export default /* sql */ `
CREATE TABLE column_spans (
  id INTEGER PRIMARY KEY AUTOINCREMENT, column_id INTEGER NOT NULL REFERENCES columns(id) ON DELETE CASCADE, start INTEGER NOT NULL, length INTEGER NOT NULL
);
CREATE INDEX column_spans_by_column ON column_spans(column_id);
CREATE TABLE span_chunks (
  chunk_id INTEGER PRIMARY KEY REFERENCES column_chunks(id) ON DELETE CASCADE, span_id INTEGER NOT NULL REFERENCES column_spans(id) ON DELETE CASCADE, start INTEGER NOT NULL, length INTEGER NOT NULL
);
CREATE INDEX span_chunks_by_span ON span_chunks(span_id);
INSERT INTO column_spans (column_id, start, length) SELECT column_id, min(start), sum(length)
  FROM (SELECT column_id, start, length, (row_number() OVER (PARTITION BY column_id ORDER BY start) - 1) / 16 AS part FROM chunk_starts) GROUP BY column_id, part ORDER BY column_id, part;
INSERT INTO span_chunks SELECT c.chunk_id, p.id, c.start - p.start, c.length FROM chunk_starts c JOIN column_spans p ON p.column_id = c.column_id AND c.start >= p.start AND c.start < p.start + p.length;
DROP TABLE chunk_starts;
`
