-- One transaction with a permit: psql -v ON_ERROR_STOP=1 -f 15_cluster_write.sql, as the command of
-- 15_cluster.c. volt_fence() comes from 15_cluster.sql.
\getenv slot VOLT_SLOT
\getenv era VOLT_ERA
\getenv epoch VOLT_EPOCH
\getenv grant VOLT_GRANT
BEGIN;
SELECT volt_fence('shop', :slot, :era, :epoch, :grant);
UPDATE stock SET amount = amount - 1 WHERE item = 'bread';
COMMIT;
