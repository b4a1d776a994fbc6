package postgres

// outsideQuery names one object outside of the schema $1 that depends on
// something in it: a view over its tables, a foreign key to them, a column of
// one of its types. With $2 = 'SOME' only the relations named in $3 and their
// row types count. Internal dependencies (a table's own TOAST table) go with
// their owner. What belongs to no schema, as a publication's entry, is a
// property of the thing that goes.
const outsideQuery = `
WITH ours (class, id) AS (
	SELECT 'pg_class'::regclass, oid FROM pg_class WHERE relnamespace = $1::oid AND ($2 = 'ALL' OR relname = ANY ($3::text[]))
	UNION ALL
	SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace = $1::oid
		AND ($2 = 'ALL' OR typrelid IN (SELECT oid FROM pg_class WHERE relnamespace = $1::oid AND relname = ANY ($3::text[])))
	UNION ALL
	SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = $1::oid AND $2 = 'ALL'
)
SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
FROM ours
JOIN pg_depend d ON d.refclassid = ours.class AND d.refobjid = ours.id AND d.deptype <> 'i'
LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
LEFT JOIN pg_attrdef a ON d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid
LEFT JOIN pg_trigger g ON d.classid = 'pg_trigger'::regclass AND g.oid = d.objid
LEFT JOIN pg_policy p ON d.classid = 'pg_policy'::regclass AND p.oid = d.objid
LEFT JOIN pg_proc f ON d.classid = 'pg_proc'::regclass AND f.oid = d.objid
LEFT JOIN pg_type y ON d.classid = 'pg_type'::regclass AND y.oid = d.objid
LEFT JOIN pg_class c ON c.oid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid
	ELSE COALESCE(w.ev_class, NULLIF(k.conrelid, 0), a.adrelid, g.tgrelid, p.polrelid) END
WHERE COALESCE(c.relnamespace, k.connamespace, f.pronamespace, y.typnamespace) <> $1::oid
LIMIT 1`
