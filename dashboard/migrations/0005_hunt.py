from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0004_on_divergence"),
    ]

    operations = [
        migrations.AddField(model_name="replay", name="hunt", field=models.BooleanField(default=False)),
    ]
